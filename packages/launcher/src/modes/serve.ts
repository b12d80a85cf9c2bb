/** Mode `serve`: the recording endpoint in front of a running product, with training alongside. */
import path from 'node:path';
import { createAlgorithm } from '@trinity-rft/algorithm';
import type { Algorithm, Engine, ExperienceStore, MetricSink } from '@trinity-rft/core';
import { applyAdvantage, type ExplorerState } from '@trinity-rft/explorer';
import { openEndpointServer } from '@trinity-rft/model';
import { createCommit, createServe, openTurnStore } from '@trinity-rft/serve';
import { createTrainer, listCheckpoints, verifyCheckpoint, type Checkpoint, type TrainerResult } from '@trinity-rft/trainer';
import { openChatFormat } from '../build/chat-format.js';
import { disposable } from '../build/disposable.js';
import { openEngine } from '../build/engine.js';
import { openExperienceStore } from '../build/experience-store.js';
import { sessionHandlers } from '../build/serve.js';
import { trainerOptions } from '../build/trainer.js';
import { createTransport, type StageTransport } from '../build/transport.js';
import type { StageContext, StageResult } from '../context.js';

const defaultDrainMs = 30_000;

/** Serves until it is interrupted; the end is clean: requests in progress are answered, the train step is finished and saved. */
export async function runServe(context: StageContext): Promise<StageResult> {
  const { stage, runtime, serve: options = {} } = context;
  const format = await openChatFormat(context);
  const algorithm = createAlgorithm(stage.algorithm, stage.seed);
  await using store = disposable(openExperienceStore(stage));
  await using turns = disposable(asynchronous(openTurnStore({ path: path.join(stage.jobDirectory, 'serve', 'calls.db') })));
  await using engine = disposable(await openEngine(context, { reference: algorithm.needs.referenceLogprobs, format }));
  await using transport = disposable(createTransport(stage, engine));
  const newest = (await listCheckpoints(stage.jobDirectory)).at(-1);
  const from = await goOn({ newest, engine, store, transport });
  const explorer = (await store.explorerState()) as ExplorerState | undefined;
  const sink = context.openSink({ explorer: explorer?.step ?? 0, trainer: from });

  const commit = createCommit({
    turns,
    store,
    pipeline: (experiences) =>
      applyAdvantage(experiences, {
        experienceShape: stage.explorer.experienceShape,
        ...(algorithm.advantage && { advantage: algorithm.advantage }),
      }),
    sink,
  });
  // What a client had committed when the process ended is not left to its next commit.
  if (turns.begun()) await commit();
  const serve = createServe({
    turns,
    createHandler: sessionHandlers(context, { sampler: engine.sampler, format, start: turns.starts }),
    commit,
    policyVersion: () => engine.sampler.policyVersion,
    numbers: async () => {
      const { waiting, trained } = await store.counts();
      return { 'trainer/waiting_experience_count': waiting, 'trainer/trained_experience_count': trained };
    },
    clock: runtime.clock,
    logger: runtime.logger,
  });
  const { host = stage.explorer.serve.host, port = stage.explorer.serve.port, apiKey: chosen } = options;
  const endpoint = await openEndpointServer({ host, port, runtime });
  const { apiKey } = endpoint.mount({ handler: serve.handler, ...(chosen !== undefined && { apiKey: chosen }) });

  const stop = new AbortController();
  const training = train(context, { engine, algorithm, store, transport, sink, from, signal: stop.signal });
  try {
    runtime.logger.info(`Serves on ${endpoint.url}, from train step ${from}.`);
    options.onOpen?.({ url: endpoint.url, apiKey });
    // Training that comes to its end does not end the server; training that fails does.
    await Promise.race([aborted(context.signal), failed(engine.gone), training.then(() => aborted(context.signal))]);
    await serve.drain(options.drainMs ?? defaultDrainMs);
  } finally {
    await endpoint.close();
    stop.abort();
    // The first cause is on its way already.
    await training.catch(() => undefined);
  }
  const { step, checkpoint } = await training;
  return { interrupted: true, doneBefore: false, trainStep: step, checkpoint: checkpoint.directory };
}

interface GoOn {
  readonly newest: Checkpoint | undefined;
  readonly engine: Engine;
  readonly store: ExperienceStore;
  readonly transport: StageTransport;
}

/** Puts trainer, store and sampler where the newest checkpoint stands. Resolves with its train step. */
async function goOn({ newest, engine, store, transport }: GoOn): Promise<number> {
  const step = newest?.manifest.step ?? 0;
  if (newest) {
    await verifyCheckpoint(newest);
    await engine.trainer.load(newest.directory);
  }
  await store.rollback(step);
  await transport.publish(step);
  await transport.adopt(step);
  return step;
}

interface TrainParts {
  readonly engine: Engine;
  readonly algorithm: Algorithm;
  readonly store: ExperienceStore;
  readonly transport: StageTransport;
  readonly sink: MetricSink;
  readonly from: number;
  readonly signal: AbortSignal;
}

/** New weights are taken between two calls: whatever is being sampled ends on the weights it began with. */
function train(context: StageContext, { engine, algorithm, store, transport, sink, from, signal }: TrainParts): Promise<TrainerResult> {
  const { syncInterval } = context.stage.synchronizer;
  const { totalSteps } = context.stage.trainer;
  context.expectSteps(totalSteps);
  const trainer = createTrainer({
    ...trainerOptions(context, { engine, algorithm, totalSteps, sink }),
    source: store,
    sync: {
      trainStepDone: async (step) => {
        if (step % syncInterval !== 0) return;
        await transport.publish(step);
        await transport.adopt(step);
      },
      setTrainerWaiting: () => undefined,
    },
    signal,
  });
  return trainer.run(from);
}

const asynchronous = <T extends { close(): void }>(resource: T): Omit<T, 'close'> & { close(): Promise<void> } => ({
  ...resource,
  close: async () => resource.close(),
});

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Rejects with the reason when the signal aborts. */
function failed(signal: AbortSignal): Promise<never> {
  return aborted(signal).then(() => {
    throw signal.reason;
  });
}
