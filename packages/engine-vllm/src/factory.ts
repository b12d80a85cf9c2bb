/**
 * Sampler factories for vLLM and SGLang servers. The configuration selects a factory by its name.
 */
import type { SamplerFactory } from '@trinity-rft/core/engine';
import { sglangServer } from './servers/sglang.js';
import { openSampler, openVllmSampler } from './sampler.js';

/**
 * Factory of samplers on vLLM servers (version 0.32 or newer, started with `--enable-scale-out`).
 */
export const vllmSampler: SamplerFactory = {
  name: 'vllm',
  capabilities: { grammar: false },
  open: openVllmSampler,
};

/**
 * Factory of samplers on SGLang servers. It was written from SGLang's documentation and has not
 * been tested with a server.
 */
export const sglangSampler: SamplerFactory = {
  name: 'sglang',
  capabilities: { grammar: false },
  open: (options) => {
    options.logger.warn(
      'Sampling on SGLang follows its documentation and was never run against a real server. Watch training/rollout_logprobs_diff_mean.',
    );
    if (options.inFlight === 'continue')
      options.logger.info('SGLang: texts in progress finish with the weights they began with.');
    return openSampler(sglangServer, options);
  },
};
