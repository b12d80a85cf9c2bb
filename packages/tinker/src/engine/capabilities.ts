/** Capabilities of all engines that use the Tinker protocol. */
import type { EngineCapabilities } from '@trinity-rft/core/engine';

export const tinkerCapabilities: EngineCapabilities = {
  entropyGradient: 'none',
  entropy: false,
  anyTemperature: false,
  samplingControls: false,
  necs: false,
  valueHead: false,
  fullParameter: false,
  lora: false,
  modelSection: 'model.tinker',
  referenceModel: true,
};
