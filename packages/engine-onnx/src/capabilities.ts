/** Capabilities of the embedded engine. */
import type { EngineCapabilities } from '@trinity-rft/core/engine';

/**
 * Capabilities that are known before an engine is opened. An opened engine has `referenceModel`
 * only if it was opened with a reference.
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
