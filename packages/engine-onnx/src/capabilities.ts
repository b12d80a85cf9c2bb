/** Capabilities of the embedded engine. */
import type { EngineCapabilities } from '@trinity-rft/core/engine';

/** Known before an engine is opened; an opened engine also reports whether it has a reference. */
export const onnxCapabilities: EngineCapabilities = {
  entropyGradient: 'exact',
  entropy: true,
  anyTemperature: true,
  samplingControls: true,
  necs: true,
  logprobConvention: 'processed',
  valueHead: true,
  fullParameter: true,
  lora: true,
  quantization: true,
  referenceModel: true,
};
