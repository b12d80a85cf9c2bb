/** A sampler over a small model with random weights, in this thread. */
import { CancelledError } from '@trinity-rft/core';
import type { SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';

import { completeConfig, type NewModelConfig } from '../../src/storage/new-model.js';
import type { ModelConfig } from '../../src/model/config.js';
import { initialWeights } from '../../src/model/parameters.js';
import { WeightBuffers } from '../../src/model/weights.js';
import { createSamplerKernels, type SamplerKernels } from '../../src/sample/kernels.js';
import type { TokenReport } from '../../src/sample/choice.js';
import { planSample } from '../../src/sample/plan.js';
import {
  SampleScheduler,
  type SampleTicket,
  type SchedulerOptions,
} from '../../src/sample/scheduler.js';
import { packTokenBytes } from '../../src/model/token-bytes.js';
import { cpu } from './runtime.js';

export interface TestSampler {
  readonly config: ModelConfig;
  readonly buffers: WeightBuffers;
  readonly scheduler: SampleScheduler;
  submit(prompt: readonly number[], options: SamplingOptions, onToken?: TokenReport): SampleTicket;
  sample(prompt: readonly number[], options: SamplingOptions): Promise<readonly SampledSequence[]>;
  close(): Promise<void>;
}

export interface TestSamplerOptions extends Partial<SchedulerOptions> {
  readonly config?: Partial<NewModelConfig> &
    Pick<ModelConfig, 'convTaps' | 'delta' | 'layerTraits'>;
  /** @default 1 */
  readonly threads?: number;
  /** @default 256 */
  readonly maxModelLen?: number;
  readonly tokens?: readonly string[];
  /** @default 1 */
  readonly seed?: number;
  /** Wraps the kernels of the sampler. */
  readonly wrap?: (kernels: SamplerKernels) => SamplerKernels;
}

/** Weights wide enough that distributions are neither flat nor sharp. */
const weightStd = 0.15;

export function createTestSampler(options: TestSamplerOptions = {}): TestSampler {
  const config = completeConfig({
    vocabSize: 32,
    hiddenSize: 64,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    ...options.config,
  });
  const buffers = new WeightBuffers(
    cpu(options.threads),
    config,
    initialWeights(config, options.seed ?? 1, { std: weightStd }),
  );
  const maxModelLen = options.maxModelLen ?? 256;
  const kernels = createSamplerKernels(config, buffers.runtime);
  const tokenBytes =
    options.tokens && packTokenBytes(options.tokens.map((text) => Buffer.from(text)));
  const scheduler = new SampleScheduler(
    options.wrap?.(kernels) ?? kernels,
    { ...buffers.lease(), version: 0 },
    { maxBatchSize: 64, cacheBytes: 64 << 20, maxQueue: 1024, tokenBytes, ...options },
  );
  const limits = {
    vocabSize: config.vocabSize,
    maxModelLen,
    hasTokenBytes: tokenBytes !== undefined,
  };
  const submit: TestSampler['submit'] = (prompt, sampling, onToken) =>
    scheduler.submit(planSample(Int32Array.from(prompt), sampling, limits), onToken);
  return {
    config,
    buffers,
    scheduler,
    submit,
    sample: (prompt, sampling) => submit(prompt, sampling).result,
    close: async () => {
      await scheduler.close(new CancelledError('The test is over.', { reason: 'shutdown' }));
      await kernels.close();
    },
  };
}
