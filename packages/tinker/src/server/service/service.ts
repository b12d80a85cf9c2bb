/**
 * State of the server: sessions, models in training, samplers, saved weights and the results of
 * requests.
 */
import { randomUUID } from 'node:crypto';
import type { Runtime } from '@trinity-rft/core';
import type { AdapterOptions, Engine } from '@trinity-rft/core/engine';
import { notFound, Refusal } from '../refusals/refusal.js';
import { checkpointsIn, type Checkpoints } from './checkpoints.js';
import { createFutures, type Futures } from './futures.js';
import { createSamplers, type Samplers } from './samplers.js';
import { createSampling, type SampleWork, type Samples } from './sampling.js';
import { createSessions, type Session, type Sessions } from './sessions.js';
import { createTrainingRun, type RunFacts, type TrainingRun } from './training-run.js';

/** The model that the server trains and samples. */
export interface TinkerModel {
  /** Name with which clients select the model. */
  readonly name: string;
  /** Loads the model. If `lora` is undefined, all weights are trainable. */
  readonly open: (options: {
    readonly lora: AdapterOptions | undefined;
    readonly seed: number;
  }) => Promise<Engine>;
  /**
   * Maximum total number of tokens in prompt and response, as reported to clients. Undefined to
   * report none.
   */
  readonly maxModelLen: number | undefined;
  /** Names of the linear layers that can have adapters. @default those of Llama */
  readonly linearModules?: readonly string[];
}

export interface ServiceOptions {
  readonly model: TinkerModel;
  /** Folder for saved weights. */
  readonly directory: string;
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>;
  /**
   * Maximum number of models in training at the same time. Each keeps its weights in memory.
   * @default 8
   */
  readonly maxRuns?: number;
  /** Time without heartbeats after which a session ends, in ms. @default 300_000 */
  readonly sessionTimeoutMs?: number;
}

export interface Service extends Pick<ServiceOptions, 'model' | 'runtime'> {
  readonly sessions: Sessions;
  readonly futures: Futures;
  readonly checkpoints: Checkpoints;
  readonly samplers: Samplers;
  /**
   * Creates the model with number `seqId` of a session, or returns the model if it exists. Clients
   * derive the model's id from the session and this number. If `seqId` is undefined, every call
   * creates a model.
   * @throws Refusal 404 if the session is unknown, Refusal 400 if too many models are in training
   */
  createRun(facts: Omit<RunFacts, 'id'>, seqId: number | undefined): TrainingRun;
  /**
   * Finds a model in training by its id.
   * @throws Refusal 404 if the model is unknown
   */
  run(id: string): TrainingRun;
  runs(): readonly TrainingRun[];
  /** Frees the engine of a model once the request in progress has ended. */
  unload(id: string): Promise<void>;
  sample(work: SampleWork, signal: AbortSignal): Promise<Samples>;
  close(): Promise<void>;
}

export function createService(options: ServiceOptions): Service {
  const { model, directory, runtime, maxRuns = 8, sessionTimeoutMs = 300_000 } = options;
  const { clock, logger } = runtime;
  const runs = new Map<string, TrainingRun>();
  const checkpoints = checkpointsIn(directory, () => clock.now(), logger);
  const futures = createFutures({ clock });
  const sampling = createSampling(() => model.open({ lora: undefined, seed: 0 }));
  const closing = new Set<Promise<void>>();
  const unload = (id: string): Promise<void> => {
    const run = runs.get(id);
    runs.delete(id);
    if (run !== undefined) sessions.removeRun(run.facts.sessionId, id);
    const closed = (run?.close() ?? Promise.resolve()).then(() => samplers.endOfRun(id));
    closing.add(closed);
    return closed.finally(() => closing.delete(closed));
  };
  const onEnd = (session: Session): void => {
    const { id, runs: owned } = session;
    samplers.endOf(session);
    if (owned.size > 0)
      logger.info(`Session ${id} has ended, and with it the training of ${[...owned].join(', ')}.`);
    for (const run of owned) void unload(run).catch(() => undefined);
  };
  const sessions = createSessions({ clock, timeoutMs: sessionTimeoutMs, onEnd });
  const samplers = createSamplers(sessions);
  return {
    model,
    runtime,
    sessions,
    futures,
    checkpoints,
    samplers,
    createRun: (given, seqId) => {
      const session = sessions.heard(given.sessionId);
      const facts = { ...given, id: `${session.id}:train:${seqId ?? randomUUID()}` };
      const known = runs.get(facts.id);
      if (known !== undefined) return known;
      while (runs.size >= maxRuns && sessions.finishSilent());
      if (runs.size >= maxRuns)
        throw new Refusal(
          400,
          `${maxRuns} models are in training, as many as this server holds. Unload one of them, or start the server with more.`,
        );
      const open = async (): Promise<Engine> => {
        try {
          return await model.open({ lora: adapters(facts), seed: facts.seed });
        } catch (error) {
          // The client gets no handle with which it could unload the model.
          void unload(facts.id).catch(() => undefined);
          throw error;
        }
      };
      const run = createTrainingRun({ facts, open, futures, now: () => clock.now() });
      runs.set(facts.id, run);
      session.runs.add(facts.id);
      return run;
    },
    run: (id) => runs.get(id) ?? notFound(`There is no model ${id} in training`),
    runs: () => [...runs.values()],
    unload,
    sample: (work, signal) => sampling.sample(work, signal),
    close: async () => {
      sessions.close();
      futures.close();
      await Promise.all(closing);
      await sampling.close();
      await samplers.close();
    },
  };
}

function adapters({ rank, alpha, targetModules }: RunFacts): AdapterOptions | undefined {
  return rank === 0 ? undefined : { rank, alpha, targetModules };
}
