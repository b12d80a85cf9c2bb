/** Capabilities of the embedded engine. */
import type { EngineCapabilities } from '@trinity-rft/core/engine';

/**
 * Capabilities that are known before an engine is opened. An opened engine also reports whether it has a
 * reference.
 */
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
