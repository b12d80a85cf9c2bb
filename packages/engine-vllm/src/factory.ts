/** vLLM as a `SamplerFactory`, which configurations choose by its name. */
import type { SamplerFactory } from '@trinity-rft/core';
import { openVllmSampler } from './sampler.js';

/** The sampler `vllm`: servers that were started with `--enable-scale-out`, version 0.32 or newer. */
export const vllmSampler: SamplerFactory = {
  name: 'vllm',
  capabilities: { grammar: false },
  open: openVllmSampler,
};
