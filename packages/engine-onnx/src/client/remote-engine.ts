/** Implements the `Engine` interface with calls to the engine's threads. */
import { CancelledError, EngineError, type CancelReason } from '@trinity-rft/core';
import type { Engine, EngineCapabilities, Sampler, TrainEngine } from '@trinity-rft/core/engine';
import { untilAborted } from '@trinity-rft/core/support';
import type { Link } from '@trinity-rft/core/worker-link';

import type { EngineFacts, EngineMethods } from '../protocol/engine-calls.js';
import type { WorkerOptions } from '../protocol/options.js';
import { packBatch, transferables } from '../protocol/packing.js';
import { AddedGradients, knownGradients } from './added-gradients.js';
import { DrawnTexts } from './drawn-texts.js';
import { SamplerPool } from './sampler-pool.js';

/**
 * Starts the trainer's thread and waits until it has opened the model. The threads of additional
 * samplers start with the first request or change of weights.
 * @throws the error with which opening the model failed in the thread, or the reason of `signal`;
 * the link is then closed
 */
export async function connectEngine(
  start: (options: WorkerOptions) => Link<EngineMethods>,
  options: WorkerOptions,
  capabilities: EngineCapabilities,
  signal?: AbortSignal,
): Promise<{ readonly engine: Engine; readonly facts: EngineFacts }> {
  const link = start(options);
  const opening = link.call('open');
  let facts: EngineFacts;
  try {
    facts = await (signal ? untilAborted(opening, signal) : opening);
  } catch (error) {
    const close = (): Promise<void> => link.close(error as Error);
    // After the call, because a thread that ends while it loads a model leaves temporary files.
    const closed = opening.then(close, close);
    if (signal?.aborted !== true) await closed;
    throw error;
  }
  const pool = createPool(link, start, options, facts);
  const drawn = new DrawnTexts();
  const engine = {
    capabilities: { ...capabilities, referenceModel: options.reference },
    trainer: remoteTrainer(link, pool, drawn),
    sampler: remoteSampler(pool, drawn, facts),
    close: () =>
      pool.close(
        cancelled('The engine was closed before this call was answered.', 'shutdown'),
        new EngineError('The engine is closed; open another one for more calls.', {
          code: 'ENGINE_CLOSED',
        }),
      ),
  };
  return { engine, facts };
}

/**
 * Creates the pool of samplers. One sampler shares the trainer's thread. The others get their own
 * threads, without trainer and reference, when they are first needed.
 */
function createPool(
  link: Link<EngineMethods>,
  start: (options: WorkerOptions) => Link<EngineMethods>,
  options: WorkerOptions,
  { config, samplers }: EngineFacts,
): SamplerPool {
  return new SamplerPool(link, {
    others: samplers - 1,
    start: () => start({ ...options, lora: undefined, reference: false, samplerOf: config }),
  });
}

function remoteTrainer(
  link: Link<EngineMethods>,
  pool: SamplerPool,
  drawn: DrawnTexts,
): TrainEngine {
  const added = new AddedGradients();
  const forward: TrainEngine['forward'] = async (batch, options = {}) => {
    const call = { batch: packBatch(batch), options };
    return { batch, ...(await link.call('forward', call, { transfer: transferables(call) })) };
  };
  return {
    hasExactLogprobs: (tokens, version) => drawn.has(tokens, version),
    forward,
    forwardBackward: async (batch, expected) => {
      const gradients = knownGradients(expected);
      if (!gradients) return forward(batch);
      const call = { batch: packBatch(batch), gradients: gradients.slice() };
      const transfer = transferables(call);
      const pass = { batch, ...(await link.call('forwardBackward', call, { transfer })) };
      added.set(pass, gradients);
      return pass;
    },
    backward: async (pass, { logprobs, entropy }) => {
      const missing = added.missing(pass, logprobs);
      if (!missing && !entropy) return;
      // Copies, because the sender of a transferred array loses it.
      const call = {
        batch: packBatch(pass.batch),
        offsets: pass.offsets.slice(),
        logprobs: missing ?? new Float32Array(logprobs.length),
        entropy: entropy?.slice(),
      };
      await link.call('backward', call, { transfer: transferables(call) });
    },
    step: (options) => {
      drawn.trained();
      return link.call('step', options);
    },
    publish: () => {
      drawn.published();
      return link.call('publish');
    },
    save: (directory, { optimizer, merged = true }) =>
      link.call('save', { directory, optimizer, merged }),
    load: (directory) => {
      drawn.trained();
      return link.call('load', { directory });
    },
    stats: () => pool.stats(),
  };
}

function remoteSampler(
  pool: SamplerPool,
  drawn: DrawnTexts,
  { maxModelLen }: EngineFacts,
): Sampler {
  let policyVersion = -1;
  return {
    maxModelLen,
    get policyVersion() {
      return policyVersion;
    },
    sample: (prompt, options, signal, onTokens) =>
      withOwnAbort(signal, async (abort) => {
        const sequences = await pool.sample(prompt, options, abort, onTokens);
        drawn.sampled(prompt, options, sequences);
        return sequences;
      }),
    score: (row, signal) => withOwnAbort(signal, (abort) => pool.score(row, abort.signal)),
    adopt: async (source, version) => {
      drawn.adopted(version, source.kind === 'published');
      await pool.adopt(source, version);
      policyVersion = version;
    },
  };
}

/** Calls `run` with a new controller, which aborts with a CancelledError when `signal` aborts. */
async function withOwnAbort<T>(
  signal: AbortSignal | undefined,
  run: (abort: AbortController) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw aborted(signal.reason);
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(aborted(signal?.reason));
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await run(abort);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function aborted(cause: unknown): CancelledError {
  const reason = cause instanceof CancelledError ? cause.reason : 'aborted';
  return cancelled('The call to the sampler was aborted by its caller.', reason, cause);
}

function cancelled(message: string, reason: CancelReason, cause?: unknown): CancelledError {
  return new CancelledError(message, { code: 'SAMPLE_ABORTED', reason, cause });
}
