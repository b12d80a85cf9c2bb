/**
 * Mode `serve`: the recording endpoint in front of a running product, with training here or in
 * another process.
 */
import path from 'node:path';
import { createOperators } from '@trinity-rft/algorithm';
import type { ChatFormat } from '@trinity-rft/chat';
import type { Algorithm, ExperienceStore, MetricSink } from '@trinity-rft/core';
import { runPipeline, type ExplorerState } from '@trinity-rft/explorer';
import { openEndpointServer } from '@trinity-rft/model';
import {
  createCommit,
  createServe,
  openTurnStore,
  type Commit,
  type TurnStore,
} from '@trinity-rft/serve';
import { listCheckpoints } from '@trinity-rft/trainer';
import { algorithmOf } from '../assembly/algorithm.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openCritic } from '../assembly/models/critic.js';
import { disposable } from '../context/disposable.js';
import { openEngine, type StageEngine } from '../assembly/models/engine.js';
import { openExperienceStore, openExperienceWriter } from '../assembly/data/experience-store.js';
import { openSampling } from '../assembly/data/sample-strategy.js';
import { createTransport } from '../assembly/transport.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { adoptNewest, followCheckpoints, type Followed } from './serve/follow-checkpoints.js';
import { sessionHandlers } from './serve/session-handlers.js';
import { goOn, trainHere } from './serve/train-here.js';

const defaultDrainMs = 30_000;

/**
 * Serves until it is interrupted; the end is clean: requests in progress are answered, the train
 * step is finished and saved.
 */
export async function runServe(context: StageContext): Promise<StageResult> {
  const { stage, serve: options = {} } = context;
  const format = await openChatFormat(context);
  const algorithm = algorithmOf(context);
  await using turns = disposable(
    await openTurnStore({ path: path.join(stage.jobDirectory, 'serve', 'calls.db') }),
  );
  await using engine = disposable(
    await openEngine(context, { reference: algorithm.needs.referenceLogprobs, format }),
  );
  const parts = {
    turns,
    engine,
    algorithm,
    format,
    handlers: sessionHandlers(context, { sampler: engine.sampler, format, start: turns.starts }),
  };
  return await ((options.train ?? true)
    ? besideTrainer(context, parts)
    : besideProcess(context, parts));
}

interface Parts {
  readonly turns: TurnStore;
  readonly engine: StageEngine;
  readonly algorithm: Algorithm;
  readonly format: ChatFormat;
  readonly handlers: ReturnType<typeof sessionHandlers>;
}

async function besideTrainer(context: StageContext, parts: Parts): Promise<StageResult> {
  const { stage } = context;
  const { engine, algorithm } = parts;
  await using critic = await openCritic(context, algorithm);
  await using store = disposable(openExperienceStore(stage));
  await using sampling = disposable(await openSampling(context, parts.format, store));
  await using transport = disposable(createTransport(stage, engine));
  const newest = (await listCheckpoints(stage.jobDirectory)).at(-1);
  const { from, state } = await goOn({
    newest,
    engine,
    critic,
    source: sampling.source,
    transport,
  });
  const sink = context.openSink({ explorer: await lastStep(store), trainer: from });
  return await serveWhile(context, {
    ...parts,
    commit: commitInto(store, sink, context, parts),
    numbers: async () => {
      const { waiting, trained } = await store.counts();
      return {
        'trainer/waiting_experience_count': waiting,
        'trainer/trained_experience_count': trained,
      };
    },
    alongside: (signal) =>
      trainHere(context, {
        engine,
        critic,
        algorithm,
        sampling,
        transport,
        sink,
        from,
        state,
        signal,
      }),
  });
}

async function besideProcess(context: StageContext, parts: Parts): Promise<StageResult> {
  await using store = disposable(openExperienceWriter(context.stage));
  const start = await adoptNewest(context, parts.engine);
  const sink = context.openSink({ explorer: await lastStep(store), trainer: 0 });
  return await serveWhile(context, {
    ...parts,
    commit: commitInto(store, sink, context, parts),
    alongside: (signal) => followCheckpoints(context, parts.engine, start, signal),
  });
}

const lastStep = async (store: Pick<ExperienceStore, 'explorerState'>): Promise<number> =>
  ((await store.explorerState()) as ExplorerState | undefined)?.step ?? 0;

function commitInto(
  store: Pick<ExperienceStore, 'put' | 'explorerState'>,
  sink: MetricSink,
  { stage, algorithms }: StageContext,
  { turns, algorithm: { advantage } }: Parts,
): Commit {
  const operators = createOperators(
    stage.dataProcessor.experiencePipeline.operators,
    algorithms.operators,
  );
  const options = {
    operators,
    experienceShape: stage.explorer.experienceShape,
    ...(advantage && { advantage }),
  };
  return createCommit({
    turns,
    store,
    pipeline: (experiences) => runPipeline(experiences, options),
    sink,
  });
}

interface Serving extends Parts {
  readonly commit: Commit;
  readonly numbers?: () => Promise<Readonly<Record<string, number>>>;
  /**
   * What goes on beside the server until the signal; may end before. What it rejects with ends the
   * server.
   */
  readonly alongside: (signal: AbortSignal) => Promise<Followed>;
}

async function serveWhile(
  context: StageContext,
  { turns, engine, handlers, commit, numbers, alongside }: Serving,
): Promise<StageResult> {
  const { stage, runtime, serve: options = {} } = context;
  // What a client had committed when the process ended is not left to its next commit.
  if (await turns.unfinishedBatch()) await commit();
  const serve = createServe({
    turns,
    createHandler: handlers,
    commit,
    policyVersion: () => engine.sampler.policyVersion,
    extraMetrics: numbers,
    clock: runtime.clock,
    logger: runtime.logger,
  });
  const {
    host = stage.explorer.serve.host,
    port = stage.explorer.serve.port,
    apiKey: chosen,
  } = options;
  const endpoint = await openEndpointServer({ host, port, runtime });
  const { apiKey } = endpoint.mount({
    handler: serve.handler,
    ownMetrics: true,
    ...(chosen !== undefined && { apiKey: chosen }),
  });
  const stop = new AbortController();
  const beside = alongside(stop.signal);
  try {
    runtime.logger.info(`Serves train step ${engine.sampler.policyVersion} on ${endpoint.url}.`);
    options.onOpen?.({ url: endpoint.url, apiKey });
    await Promise.race([
      aborted(context.signal),
      failed(engine.gone),
      failed(turns.failed),
      beside.then(() => aborted(context.signal)),
    ]);
    await serve.drain(options.drainMs ?? defaultDrainMs);
  } finally {
    await endpoint.close();
    stop.abort();
    // The first cause is on its way already.
    await beside.catch(() => undefined);
  }
  const { step, checkpoint } = await beside;
  return {
    interrupted: true,
    doneBefore: false,
    trainStep: step,
    checkpoint: checkpoint?.directory,
  };
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Rejects with the reason when the signal aborts. */
async function failed(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw signal.reason as Error;
}
