/**
 * Assembles an engine from its training half and its sampling half. Once the engine is closed,
 * calls to either half reject.
 */
import { EngineError } from '@trinity-rft/core';
import type { Engine, Sampler, TrainEngine } from '@trinity-rft/core/engine';
import { tinkerCapabilities } from './capabilities.js';
import { createCheckpoints, type CheckpointOptions } from './checkpoint/checkpoints.js';
import { readRecord } from './checkpoint/record.js';
import type { ServerTraits } from './probe.js';
import type { SamplingHandle } from './sample/handle.js';
import { unloadAll, type RemoteModel } from './remote/model.js';
import { createSampler } from './sample/sampler.js';
import type { WeightDelivery } from './sample/weights.js';
import type { RowLimits } from './train/rows.js';
import { createTrainer } from './train/trainer.js';

export interface EngineParts extends Omit<CheckpointOptions, 'forgets'> {
  readonly limits: RowLimits;
  readonly traits: ServerTraits;
  readonly delivery: WeightDelivery;
  readonly initialWeights: () => Promise<SamplingHandle>;
  /**
   * Untrained adapter that serves as the reference model; undefined if no reference model is
   * needed.
   */
  readonly reference: RemoteModel | undefined;
  readonly tokenBytes: readonly Uint8Array[] | undefined;
  /** Controller that aborts all requests when the engine is closed. */
  readonly ended: AbortController;
}

export function assembleEngine(parts: EngineParts): Engine {
  const { traits, reference, ended } = parts;
  const { sampler, publish } = samplingHalf(parts);
  const trainer = trainingHalf(parts, publish);
  if (!traits.clips)
    parts.context.logger.warn(
      'The Tinker server does not clip gradients: trainer.grad_clip has no effect there.',
    );
  const { signal } = ended;
  return {
    capabilities: { ...tinkerCapabilities, referenceModel: reference !== undefined },
    trainer: whileOpen(trainer, signal),
    sampler: whileOpen(sampler, signal),
    close: () => closeParts(parts),
  };
}

function trainingHalf(
  { context, connection, traits, ...parts }: EngineParts,
  publish: () => Promise<void>,
): TrainEngine {
  const { forgets } = traits;
  const checkpoints = createCheckpoints({ context, connection, forgets, ...parts });
  return createTrainer({
    ...parts,
    traits,
    publish,
    ...checkpoints,
    counts: () => {
      const { requests, retries } = connection.takeCounts();
      return { 'perf/tinker_requests': requests, 'perf/tinker_retries': retries };
    },
  });
}

function samplingHalf({ context, delivery, trained, ...parts }: EngineParts): {
  readonly sampler: Sampler;
  readonly publish: () => Promise<void>;
} {
  let published: SamplingHandle | undefined;
  let adopted: SamplingHandle | undefined;
  const weightsOf = async (source: Parameters<Sampler['adopt']>[0]): Promise<SamplingHandle> => {
    if (source.kind === 'checkpoint')
      return delivery.ofCheckpoint(await readRecord(source.directory));
    if (published === undefined)
      throw new EngineError('Nothing was published to adopt.', { code: 'ENGINE_NO_WEIGHTS' });
    adopted = published;
    return published;
  };
  return {
    sampler: createSampler({ ...parts, calls: context.calls, weightsOf }),
    publish: async () => {
      const before = published;
      published = await delivery.ofModel(trained.model);
      if (before !== adopted) before?.retire();
    },
  };
}

const closed = (): EngineError =>
  new EngineError('The engine was closed.', { code: 'ENGINE_CLOSED' });

/** Wraps one half of the engine. Once `signal` has aborted, calls to the wrapped half reject. */
function whileOpen<T extends TrainEngine | Sampler>(half: T, signal: AbortSignal): T {
  return new Proxy(half, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]) =>
        signal.aborted
          ? Promise.reject(signal.reason as Error)
          : (Reflect.apply(value, target, args) as unknown);
    },
  });
}

async function closeParts(parts: EngineParts): Promise<void> {
  const { context, trained, reference, traits, delivery, ended } = parts;
  if (ended.signal.aborted) return;
  const { session, logger } = context;
  const stays = traits.forgets && trained.model.hasSaved;
  if (stays)
    logger.info(
      `The adapter ${trained.model.id} stays in the memory of the Tinker server until it is restarted: unloading it would delete the checkpoints of the run there.`,
    );
  const models = [...(stays ? [] : [trained.model]), ...(reference ? [reference] : [])];
  await unloadAll(context, [...models, ...delivery.copies]);
  session.close();
  ended.abort(closed());
}
