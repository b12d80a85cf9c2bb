/** The `Engine` interface over the calls of the protocol. */
import {
  CancelledError,
  EngineError,
  type CancelReason,
  type Engine,
  type EngineCapabilities,
  type Sampler,
  type TrainEngine,
  type TrinityError,
} from '@trinity-rft/core';

import { samplingThreads } from '../sample/sampler-threads.js';
import { EngineClient, type CallHandle, type EngineLink } from '../protocol/client.js';
import { Lanes } from './sampler-pool.js';
import { packBatch, type EngineFacts, type WorkerOptions } from '../protocol/engine-calls.js';

/**
 * Starts a thread and waits until it is ready; starts others when their samplers are needed.
 * @throws whatever opening the model threw there; the link is closed then
 */
export async function connectEngine(
  start: (options: WorkerOptions) => EngineLink,
  options: WorkerOptions,
  capabilities: EngineCapabilities,
): Promise<{ readonly engine: Engine; readonly facts: EngineFacts }> {
  const client = new EngineClient(start(options));
  const ends = [
    cancelled('The engine was closed before this call was answered.', 'shutdown'),
    engineClosed(),
  ] as const;
  try {
    const facts = await client.call('open', {}).result;
    const others = samplingThreads(facts.config, options.threads).lanes - 1;
    const { lora: _, ...shared } = options;
    const sampling = { ...shared, reference: false, samples: facts.config };
    const lanes = new Lanes(
      client,
      Array.from({ length: others }, () => () => start(sampling)),
    );
    const engine = {
      capabilities: { ...capabilities, referenceModel: options.reference },
      trainer: trainerOf(client, lanes),
      sampler: samplerOf(lanes, facts),
      close: () => lanes.close(...ends),
    };
    return { engine, facts };
  } catch (error) {
    await client.close(...ends);
    throw error;
  }
}

function trainerOf(client: EngineClient, lanes: Lanes): TrainEngine {
  return {
    forward: async (batch, options = {}) => {
      const pass = await client.call('forward', { batch: packBatch(batch), options }).result;
      return { batch, ...pass };
    },
    backward: async (pass, { logprobs, entropy }) => {
      // Copies, because arrays that are sent are lost to the sender.
      const copies = {
        offsets: pass.offsets.slice(),
        logprobs: logprobs.slice(),
        ...(entropy && { entropy: entropy.slice() }),
      };
      await client.call('backward', { batch: packBatch(pass.batch), ...copies }).result;
    },
    step: (options) => client.call('step', options).result,
    publish: async (version) => client.call('publish', { version }).result,
    save: async (directory, { optimizer }) => client.call('save', { directory, optimizer }).result,
    load: async (directory) => client.call('load', { directory }).result,
    stats: () => lanes.stats(),
  };
}

function samplerOf(lanes: Lanes, { maxModelLen }: EngineFacts): Sampler {
  let policyVersion = -1;
  return {
    maxModelLen,
    get policyVersion() {
      return policyVersion;
    },
    sample: (prompt, options, signal) => abortable(signal, () => lanes.sample(prompt, options)),
    score: (row, signal) => abortable(signal, () => lanes.score(row)),
    adopt: async (source, version) => {
      await lanes.adopt(source, version);
      policyVersion = version;
    },
  };
}

/** The answer of a call that is given up when the signal aborts. */
async function abortable<T>(
  signal: AbortSignal | undefined,
  begin: () => CallHandle<T>,
): Promise<T> {
  if (signal?.aborted) throw aborted(signal.reason);
  const call = begin();
  const onAbort = (): void => call.cancel(aborted(signal?.reason));
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await call.result;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function aborted(cause: unknown): TrinityError {
  const reason = cause instanceof CancelledError ? cause.reason : 'aborted';
  return cancelled('The call to the sampler was aborted by its caller.', reason, cause);
}

function cancelled(message: string, reason: CancelReason, cause?: unknown): CancelledError {
  return new CancelledError(message, {
    code: 'SAMPLE_ABORTED',
    reason,
    ...(cause !== undefined && { cause }),
  });
}

function engineClosed(): EngineError {
  return new EngineError('The engine is closed; open another one for more calls.', {
    code: 'ENGINE_CLOSED',
  });
}
