/** The embedded engine: trains and samples one model in a worker thread. Knows token ids and weights; nothing of text, rewards or algorithms. */
import { availableParallelism } from 'node:os';

import {
  CancelledError,
  EngineError,
  silentLogger,
  type CancelReason,
  type Engine,
  type EngineCapabilities,
  type Logger,
  type Sampler,
  type TrainEngine,
  type TrinityError,
} from '@trinity-rft/core';

import { packTokenBytes } from './sample/stop-matcher.js';
import { WorkerClient } from './worker/client.js';
import { packBatch, unpackSequences, type EngineFacts } from './worker/protocol.js';

export interface OnnxEngineOptions {
  /** A Hugging Face model folder: config.json (qwen3, qwen2 or llama) and safetensors. */
  readonly modelPath: string;
  /** Threads inside one operator; results depend on it in the last bits. @default the machine's cores, at most 8 */
  readonly threads?: number;
  /** Keep the weights of `modelPath` as a frozen reference; costs their memory once more. @default false */
  readonly reference?: boolean;
  /** Longest prompt + response. @default what the model was made for */
  readonly maxModelLen?: number;
  /** The byte string of each token id; stop strings need it. @default none */
  readonly tokenBytes?: readonly Uint8Array[];
  /** What activations of one training micro-batch may take, and likewise the sampler's cache. @default 640 MiB */
  readonly memoryBudgetBytes?: number;
  /** Sequences sampled at once. @default 256 */
  readonly maxBatchSize?: number;
  /** @default silent */
  readonly logger?: Logger;
}

const capabilities: EngineCapabilities = {
  entropyGradient: 'exact',
  logprobConvention: 'processed',
  valueHead: false,
  fullParameter: true,
  lora: false,
  referenceModel: true,
};

/**
 * Opens a model folder in a worker thread. The process stays alive until the engine is closed.
 * @throws CheckpointError when the folder cannot be used, EngineError when the options do not fit it
 */
export async function createOnnxEngine(options: OnnxEngineOptions): Promise<Engine> {
  const { modelPath, maxModelLen, tokenBytes } = options;
  const threads = options.threads ?? Math.min(8, availableParallelism());
  const client = new WorkerClient({
    modelPath,
    threads,
    reference: options.reference ?? false,
    memoryBudgetBytes: options.memoryBudgetBytes ?? 640 * 2 ** 20,
    maxBatchSize: options.maxBatchSize ?? 256,
    ...(maxModelLen !== undefined && { maxModelLen }),
    ...(tokenBytes && { tokenBytes: packTokenBytes(tokenBytes) }),
  });
  const close = (): Promise<void> => client.close(cancelled('The engine was closed before this call was answered.', 'shutdown'), engineClosed());
  try {
    const facts = await client.call('open', {}).result;
    (options.logger ?? silentLogger).info('The embedded engine is ready', { modelPath, threads, ...facts });
    return {
      capabilities: { ...capabilities, referenceModel: options.reference ?? false },
      trainer: trainerOf(client),
      sampler: samplerOf(client, facts),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function trainerOf(client: WorkerClient): TrainEngine {
  return {
    forward: async (batch, options = {}) => {
      const pass = await client.call('forward', { batch: packBatch(batch), options }).result;
      return { batch, ...pass };
    },
    backward: async (pass, { logprobs, entropy }) => {
      // Copies, because arrays that are sent are lost to the sender.
      const copies = { offsets: pass.offsets.slice(), logprobs: logprobs.slice(), ...(entropy && { entropy: entropy.slice() }) };
      await client.call('backward', { batch: packBatch(pass.batch), ...copies }).result;
    },
    step: (options) => client.call('step', options).result,
    publish: async (version) => client.call('publish', { version }).result,
    save: async (directory, { optimizer }) => client.call('save', { directory, optimizer }).result,
    load: async (directory) => client.call('load', { directory }).result,
    stats: () => client.call('stats', {}).result,
  };
}

function samplerOf(client: WorkerClient, { maxModelLen }: EngineFacts): Sampler {
  let policyVersion = -1;
  return {
    maxModelLen,
    get policyVersion() {
      return policyVersion;
    },
    sample: async (prompt, options, signal) => {
      if (signal?.aborted) throw aborted(signal.reason);
      const call = client.call('sample', { prompt: prompt.slice(), options });
      const onAbort = (): void => call.cancel(aborted(signal?.reason));
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        return unpackSequences(await call.result);
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    },
    adopt: async (source, version) => {
      await client.call('adopt', { source, version }).result;
      policyVersion = version;
    },
  };
}

function aborted(cause: unknown): TrinityError {
  const reason = cause instanceof CancelledError ? cause.reason : 'aborted';
  return cancelled('Sampling was aborted by its caller.', reason, cause);
}

function cancelled(message: string, reason: CancelReason, cause?: unknown): CancelledError {
  return new CancelledError(message, { code: 'SAMPLE_ABORTED', reason, ...(cause !== undefined && { cause }) });
}

function engineClosed(): EngineError {
  return new EngineError('The engine is closed; open another one for more calls.', { code: 'ENGINE_CLOSED' });
}
