/** Mode `both`: explores and trains, then evaluates the final weights. */
import type { StageConfig } from '@trinity-rft/config';
import { type Logger, type MetricSink, BufferError } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import type { Explorer, ExplorerState } from '@trinity-rft/explorer';
import { pruneCheckpoints, type TrainerResult } from '@trinity-rft/trainer';
import { openExperienceStore } from '../assembly/data/experience-store.js';
import { openTasks, type StageTasks } from '../assembly/data/tasks.js';
import { withMadeTasks } from '../assembly/task-pipeline/make-tasks.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { unlessEngineFails } from '../assembly/models/engine.js';
import type { StageTransport } from '../assembly/transport.js';
import { disposable } from '../context/disposable.js';
import { stageResult, type StageContext, type StageResult } from '../context/stage-context.js';
import { assembleLoop } from './both/loop.js';
import { openParts, type DataParts, type RemoteExploration, type LoopParts } from './both/open.js';
import { assertResumable, earlierResult, readProgress } from './both/progress.js';
import { superviseBoth } from './both/supervise.js';

export const runBoth = async (context: StageContext): Promise<StageResult> =>
  runLoop({ ...context, stage: await withMadeTasks(context, context.hasBegun) });

/**
 * Explores and trains, then evaluates the final weights. Other processes explore if `remote` is
 * given.
 */
export async function runLoop(
  context: StageContext,
  remote?: RemoteExploration,
): Promise<StageResult> {
  const { stage, startModel, extensions, hasBegun, runtime } = context;
  const format = await openChatFormat(stage, startModel);
  await using tasks = await openTasks(stage, extensions, context);
  const { openRows } = extensions;
  const own = await openExperienceStore(stage, runtime, { openRows, hasBegun });
  await using store = disposable(remote ? remote.share(own) : own);
  const data = { format, tasks, store };
  return await loopOver(context, data, () => openParts(context, data, remote?.openExploreSide));
}

/**
 * Explores and trains on data that is already open.
 * @param open opens the other parts, which are only needed if the stage is not completed
 */
export async function loopOver(
  context: StageContext,
  { tasks, store }: DataParts,
  open: () => Promise<LoopParts>,
): Promise<StageResult> {
  const { stage, runtime, endedBefore, signal } = context;
  const progress = await readProgress(stage, store, runtime.logger);
  const earlier = endedBefore ? await earlierResult(stage, tasks, progress) : undefined;
  if (earlier) return earlier;
  assertResumable(stage, progress);
  // Refuses a task set of another size before its digest is recorded.
  if (progress.explorer) tasks.feed.restore(progress.explorer.feed);
  await using parts = disposable(await open());
  const { engineFailed, transport } = parts;
  const { sink, createEvaluator, ...loop } = await assembleLoop(context, parts, progress);
  const trained = await superviseBoth({
    ...loop,
    store,
    state: progress.explorer,
    interrupt: signal,
    engineFailed,
  });
  await loop.synchronizer.close();
  if (!trained.interrupted) {
    assertTrained(trained);
    await warnOfStale(stage, store, runtime.logger);
    const { jobDirectory, trainer } = stage;
    await pruneCheckpoints(jobDirectory, trainer.maxCheckpointsToKeep, parts.engine.trainer);
    await unlessEngineFails(engineFailed, () =>
      evaluateAtEnd({ evaluator: createEvaluator(), transport, tasks, trained, store, sink }),
    );
  }
  const { interrupted, step, checkpoint } = trained;
  return { ...stageResult(step, checkpoint?.directory), interrupted };
}

/**
 * Checks that the stage has made a train step.
 * @throws BufferError if the stage has made none
 */
function assertTrained({ step }: TrainerResult): void {
  if (step > 0) return;
  throw new BufferError(
    'The stage ended without a train step: no experience of its runs was left to train on. Look at experience_pipeline/* in metrics.jsonl: groups whose rewards are all equal may have been filtered out.',
    { code: 'NOTHING_TRAINED' },
  );
}

/**
 * Warns if the stage has discarded more experiences as too old than it has trained on. Does not
 * warn about a replay buffer, which omits experiences for other reasons too.
 */
export async function warnOfStale(
  { algorithm: { sampleStrategy }, buffer: { trainerInput } }: StageConfig,
  store: Pick<ExperienceStore, 'counts'>,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const { name, args } = sampleStrategy;
  if (name !== 'staleness_control' || typeof args['maxStaleness'] !== 'number') return;
  const { experienceBuffer } = trainerInput;
  if (experienceBuffer.storageType !== 'file' && experienceBuffer.replay) return;
  const { total, waiting, leased, trained } = await store.counts();
  const discarded = total - waiting - leased - trained;
  if (discarded <= trained) return;
  logger.warn(
    `${discarded} of ${trained + discarded} experiences were not trained on, because staleness_control discards what is older than max_staleness (sample/stale_dropped). Raise it, shorten the intervals of synchronizer, or make fewer train steps per explore step (buffer.train_batch_size).`,
  );
}

interface FinalEvaluation {
  readonly evaluator: Explorer;
  readonly transport: StageTransport;
  readonly tasks: StageTasks;
  readonly trained: TrainerResult;
  readonly store: ExperienceStore;
  readonly sink: MetricSink;
}

/** Evaluates the final weights. Evaluations during training use earlier weights. */
async function evaluateAtEnd({
  evaluator,
  transport,
  tasks,
  trained,
  store,
  sink,
}: FinalEvaluation): Promise<void> {
  if (tasks.evalSets.length === 0) return;
  const state = (await store.explorerState()) as ExplorerState | undefined;
  const exploredUpTo = state?.step ?? 0;
  await transport.publish(trained.step, exploredUpTo, true);
  await transport.adopt(trained.step);
  const step = exploredUpTo + 1;
  sink.write({ role: 'explorer', step, metrics: await evaluator.evaluate(step) });
}
