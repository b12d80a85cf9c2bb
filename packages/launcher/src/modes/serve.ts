/**
 * Mode `serve`: serves the recording endpoint to the clients of a product. This process or another
 * one trains on the recorded calls.
 */
import path from 'node:path';
import { createOperators } from '@trinity-rft/algorithm';
import { type MetricSink, BufferError, ModelError } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';
import { comparesRuns } from '@trinity-rft/config/internal';
import type { Algorithm } from '@trinity-rft/core/internal';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { type ExplorerState } from '@trinity-rft/explorer';
import { runPipeline } from '@trinity-rft/explorer/internal';
import { createEncoderThread } from '@trinity-rft/model/internal';
import { checkpointsToResume } from '@trinity-rft/trainer';
import { createCommit, openTurnStore, type Commit, type TurnStore } from '../outer/outer.js';
import { algorithmOf } from '../assembly/algorithm.js';
import { openExperienceStore, openExperienceWriter } from '../assembly/data/experience-store.js';
import { openSampling } from '../assembly/data/sample-strategy.js';
import { openChatFormat, type StageModel } from '../assembly/models/chat-format.js';
import { openCritic } from '../assembly/models/critic.js';
import { openEngine } from '../assembly/models/engine.js';
import { createTransport } from '../assembly/transport.js';
import { disposable } from '../context/disposable.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { createCommitWarnings } from './serve/commit-warnings.js';
import { adoptNewest, followCheckpoints } from './serve/follow-checkpoints.js';
import { serveUntilInterrupted, type ServerParts } from './serve/server.js';
import { sessionModels } from './serve/session-models.js';
import { resumeTraining, trainHere } from './serve/train-here.js';

/**
 * Serves until the interrupt. Then completes open requests. If this process trains, it also
 * finishes the train step and saves a checkpoint.
 */
export async function runServe(context: StageContext): Promise<StageResult> {
  const { stage, startModel, extensions, runtime, signal, env } = context;
  const { train = true } = context.serve ?? {};
  const { engines, algorithms } = extensions;
  const format = await openChatFormat(stage, startModel);
  const algorithm = algorithmOf(stage, algorithms);
  await using turns = disposable(
    await openTurnStore({
      path: path.join(stage.jobDirectory, 'serve', 'calls.db'),
      warn: (message) => runtime.logger.warn(message),
    }),
  );
  const model = { startModel, format, runtime, signal, env };
  const { referenceLogprobs } = algorithm.needs;
  await using engine = disposable(await openEngine(stage, model, engines, referenceLogprobs));
  const { sampler } = engine;
  await using encoder = disposable(createEncoderThread(format.tokenizer.files));
  const from = { sampler, format, encoder, start: turns.starts };
  const models = sessionModels(stage, runtime, from);
  const refusal = algorithm.needs.teacherLogprobs ? noTeacher(stage) : undefined;
  const parts = { turns, engine, algorithm, model, models, refusal };
  return await (train ? serveAndTrain(context, parts) : serveBesideTrainer(context, parts));
}

const noTeacher = ({ algorithm: { algorithmType } }: StageConfig): ModelError =>
  new ModelError(
    `${algorithmType} learns from the log-probabilities that a teacher gives every token, which served answers do not have, so they cannot be committed. Use an algorithm that learns from rewards, such as grpo, in a run of another name.`,
    { status: 409, code: 'commit_refused' },
  );

interface Parts extends Pick<ServerParts, 'turns' | 'engine' | 'models' | 'refusal'> {
  readonly algorithm: Algorithm;
  readonly model: StageModel;
}

async function serveAndTrain(context: StageContext, parts: Parts): Promise<StageResult> {
  const { stage, startModel, extensions, runtime, hasBegun } = context;
  const { engine, algorithm, model } = parts;
  const { engines, openRows } = extensions;
  await using critic = await openCritic(stage, startModel, engines);
  await using store = disposable(await openExperienceStore(stage, runtime, { openRows, hasBegun }));
  const { experienceBuffer } = stage.buffer.trainerInput;
  const isKept = experienceBuffer.storageType !== 'file' && experienceBuffer.storage === 'sqlite';
  if (isKept) await assertNoneLost(store, parts.turns);
  await using sampling = disposable(await openSampling(stage, model, store));
  await using transport = disposable(createTransport(stage, engine));
  const newest = (await checkpointsToResume(stage.jobDirectory)).at(-1);
  const { source } = sampling;
  const found = { newest, engine, critic, source, transport };
  const { from, state } = await resumeTraining(found, runtime.logger);
  const sink = context.openSink({
    explorer: await lastExploreStep(store),
    trainer: from,
    hadEnded: context.endedBefore,
  });
  const training = { engine, critic, algorithm, sampling, transport, store, sink, from, state };
  const explored = await store.explorerState();
  if (explored) await store.put([], { ...explored, served: true });
  return await serveUntilInterrupted(context, {
    ...parts,
    commit: commitInto(store, sink, context, parts),
    extraMetrics: async () => {
      const { waiting, trained } = await store.counts();
      return {
        'trainer/waiting_experience_count': waiting,
        'trainer/trained_experience_count': trained,
      };
    },
    updateWeights: async (signal) => {
      context.expectSteps(stage.trainer.totalSteps);
      const trained = await trainHere(stage, runtime, { ...training, signal });
      if (!trained.interrupted)
        runtime.logger.warn(
          `Training has ended with train step ${trained.step}, because trainer.total_steps is ${stage.trainer.totalSteps}. The model is still served, and committed answers are kept but not trained on. To train on them, raise trainer.total_steps, and start the server again.`,
        );
      return trained;
    },
  });
}

async function serveBesideTrainer(context: StageContext, parts: Parts): Promise<StageResult> {
  const { stage, extensions, runtime } = context;
  await using store = disposable(await openExperienceWriter(stage, extensions.openRows));
  await assertNoneLost(store, parts.turns);
  const start = await adoptNewest(stage.jobDirectory, parts.engine);
  const sink = context.openSink({ explorer: await store.lastCommit(), trainer: 0 });
  return await serveUntilInterrupted(context, {
    ...parts,
    commit: commitInto(store, sink, context, parts),
    updateWeights: (signal) => followCheckpoints(stage, runtime, parts.engine, start, signal),
  });
}

const lastExploreStep = async (store: Pick<ExperienceStore, 'explorerState'>): Promise<number> =>
  ((await store.explorerState()) as ExplorerState | undefined)?.step ?? 0;

/**
 * Checks that no rated call is lost. Calls are deleted after the experience store has stored them.
 * @throws BufferError when the experience store has fewer commits than the turn store has made
 */
async function assertNoneLost(
  store: Pick<ExperienceStore, 'lastCommit' | 'explorerState'>,
  turns: Pick<TurnStore, 'lastStep'>,
): Promise<void> {
  const confirmed = await turns.lastStep();
  // Earlier versions counted commits only as explore steps.
  const stored = (await store.lastCommit()) || (await lastExploreStep(store));
  if (stored >= confirmed) return;
  throw new BufferError(
    `The experience store has ${stored} commits of rated calls, and serve/calls.db in the folder of the run has made ${confirmed}. The disk or another program has changed the store. Restore it from a copy; to start with an empty one, move serve/ away.`,
    { code: 'BUFFER_DAMAGED' },
  );
}

/** Creates a commit function, which converts rated calls to experiences and stores them. */
function commitInto(
  store: Pick<ExperienceStore, 'put' | 'explorerState' | 'lastCommit'>,
  sink: MetricSink,
  { stage, extensions, serve, runtime }: StageContext,
  { turns, algorithm: { advantage } }: { readonly turns: TurnStore; readonly algorithm: Algorithm },
): Commit {
  const operators = createOperators(
    stage.dataProcessor.experiencePipeline.operators,
    extensions.algorithms.operators,
  );
  const { experienceShape } = stage.explorer;
  const compares = comparesRuns({ tables: extensions.algorithms }, stage.algorithm);
  const warn = createCommitWarnings(runtime.logger, compares);
  return createCommit({
    turns,
    store,
    isBeside: serve?.train === false,
    pipeline: (experiences) => {
      const result = runPipeline(experiences, { operators, experienceShape, advantage });
      warn(result.metrics, experiences);
      return result;
    },
    sink,
  });
}
