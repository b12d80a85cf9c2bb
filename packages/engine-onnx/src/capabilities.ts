/** What the embedded engine can do. */
import type { EngineCapabilities } from '@trinity-rft/core';

/** Known before an engine is opened; one that was opened without a reference says so itself. */
export const onnxCapabilities: EngineCapabilities = {
  entropyGradient: 'exact',
  necs: true,
  logprobConvention: 'processed',
  valueHead: true,
  fullParameter: true,
  lora: true,
  referenceModel: true,
};
