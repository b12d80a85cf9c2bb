/** What training and sampling over the Tinker protocol can do. */
import type { EngineCapabilities } from '@trinity-rft/core';

export const tinkerCapabilities: EngineCapabilities = {
  entropyGradient: 'none',
  necs: false,
  logprobConvention: 'raw',
  valueHead: false,
  fullParameter: false,
  lora: true,
  referenceModel: true,
};
