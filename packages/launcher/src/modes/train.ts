/** Mode `train`: trains on data that already exists. */
import { BufferError } from '@trinity-rft/core';
import { checkpointsToResume, createTrainer, verifyCheckpoint } from '@trinity-rft/trainer';
import { algorithmOf } from '../assembly/algorithm.js';
import { batchCount } from '../assembly/data/sample-strategy.js';
import { openTrainingData, type TrainingData } from '../assembly/data/training-data.js';
import { loadCheckpoint } from '../assembly/models/load-checkpoint.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openCritic } from '../assembly/models/critic.js';
import { openEngine } from '../assembly/models/engine.js';
import { trainerOptions } from '../assembly/trainer-options.js';
import { disposable } from '../context/disposable.js';
import { stageResult, type StageContext, type StageResult } from '../context/stage-context.js';

export async function runTrain(context: StageContext): Promise<StageResult> {
  const { stage, startModel, extensions, runtime, signal, env } = context;
  const { engines, algorithms, openRows } = extensions;
  const format = await openChatFormat(stage, startModel);
  const model = { startModel, format, runtime, signal, env };
  const algorithm = algorithmOf(stage, algorithms);
  const newest = (await checkpointsToResume(stage.jobDirectory)).at(-1);
  // A user may have deleted the record of the settings, but not the checkpoints.
  const hasBegun = context.hasBegun || newest !== undefined;
  await using data = disposable(await openTrainingData(stage, model, { openRows, hasBegun }));
  const totalSteps = stage.trainer.totalSteps ?? data.totalSteps;
  const from = newest?.manifest.step ?? 0;
  const hasEnded = newest?.manifest.final === true && context.endedBefore;
  if (hasEnded && !(await mayGoOn(context, data, from))) {
    await verifyCheckpoint(newest);
    return { ...stageResult(from, newest.directory), doneBefore: true };
  }
  const { referenceLogprobs } = algorithm.needs;
  await using engine = disposable(await openEngine(stage, model, engines, referenceLogprobs));
  await using critic = await openCritic(stage, startModel, engines);
  context.expectSteps(totalSteps);
  const models = { engine: engine.trainer, critic };
  const state = newest ? await loadCheckpoint(newest, models, runtime.logger) : {};
  if (newest) runtime.logger.info(`Resumes at train step ${from}.`);
  await data.source.rollback(from);
  const sink = context.openSink({ trainer: from });
  const parts = { engine, critic, algorithm, sampling: data, state, totalSteps, sink };
  const options = trainerOptions(stage, runtime, parts);
  const settings = { ...options.settings, totalSteps };
  const trainer = createTrainer({ ...options, settings, signal });
  const { step, interrupted, checkpoint } = await trainer.run(from);
  if (step === 0 && !interrupted)
    throw new BufferError(
      'The stage ended without a train step: its experience buffer holds nothing to train on. Give the data of a run that has explored.',
      { code: 'NOTHING_TRAINED' },
    );
  return { ...stageResult(step, checkpoint?.directory), interrupted };
}

/**
 * Returns true if there is data for another train step after step `from`, or if a server may still
 * add some.
 */
async function mayGoOn(
  { stage, signal }: StageContext,
  { source, filter, mayGrow, ...data }: TrainingData,
  from: number,
): Promise<boolean> {
  const totalSteps = stage.trainer.totalSteps ?? data.totalSteps;
  if (totalSteps !== undefined) return from < totalSteps;
  if (mayGrow) return true;
  await source.rollback(from);
  const next = await source.take(batchCount(stage), filter?.(from + 1), signal);
  await next?.release();
  return next !== undefined;
}
