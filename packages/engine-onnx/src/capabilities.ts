import type { EngineCapabilities } from '@trinity-rft/core/engine';

/**
 * Capabilities of the embedded engine before it is opened. An opened engine has `referenceModel`
 * only if it was opened with a reference.
 */
export const onnxCapabilities: EngineCapabilities = {
  entropyGradient: 'exact',
  entropy: true,
  anyTemperature: true,
  samplingControls: true,
  necs: true,
  valueHead: true,
  fullParameter: true,
  lora: true,
  quantization: true,
  referenceModel: true,
};
