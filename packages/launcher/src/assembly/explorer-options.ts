/** Derives the explorer's options from the configuration of a stage. */
import { createOperators } from '@trinity-rft/algorithm';
import type { MetricSink, Runtime } from '@trinity-rft/core';
import type { DynamicSampling, ExplorerOptions } from '@trinity-rft/explorer';
import type { OnPause, TaskRunnerOptions } from '@trinity-rft/explorer/internal';
import type { StageConfig } from '@trinity-rft/config';
import type { Extensions, TaskParts } from '../context/stage-context.js';
import { rewardFnFinder } from './reward-functions.js';
import { modelFactory, type ModelParts } from './models/rollout-model.js';
import { answerWriter } from './data/evaluation-answers.js';
import { previewWriter } from './data/rollout-preview.js';
import type { StageTasks } from './data/tasks.js';

/**
 * Options of the explorer that determine which process makes the rollouts, and with which weights.
 */
export type RunSide = Pick<ExplorerOptions, 'createModel' | 'policyVersion' | 'runTasks'>;

/** Returns the options for rollouts in this process, with its own sampler. */
export const runsHere = (stage: StageConfig, runtime: Runtime, parts: ModelParts): RunSide => ({
  createModel: modelFactory(stage, runtime, parts),
  policyVersion: () => parts.sampler.policyVersion,
});

/** Returns the options for making rollouts, which do not depend on the source of the tasks. */
export function taskRunnerOptions(
  { explorer: settings }: StageConfig,
  runtime: Runtime,
  { workflows, rewardFns }: TaskParts,
  createModel: RunSide['createModel'],
): Omit<TaskRunnerOptions, 'signal'> {
  return {
    settings,
    workflow: (name) => workflows.get(name),
    rewardFn: rewardFnFinder(rewardFns),
    createModel,
    runtime,
  };
}

interface ExplorerParts {
  readonly runs: RunSide;
  readonly tasks: StageTasks;
  readonly sink: MetricSink;
  readonly onProgress: ExplorerOptions['onProgress'];
  readonly onPause: OnPause | undefined;
}

export function explorerOptions(
  stage: StageConfig,
  runtime: Runtime,
  extensions: Extensions,
  { runs, tasks, sink, onProgress, onPause }: ExplorerParts,
): Omit<ExplorerOptions, 'store' | 'sync' | 'signal' | 'advantage'> {
  return {
    ...taskRunnerOptions(stage, runtime, extensions, runs.createModel),
    runTasks: runs.runTasks,
    policyVersion: runs.policyVersion,
    feed: tasks.feed,
    evalSets: tasks.evalSets,
    dynamicSampling: dynamicSamplingOf(stage),
    // With dynamic sampling, a step may draw more tasks than a batch. The number of tasks then does
    // not determine the number of steps.
    maxSteps: stage.buffer.totalSteps,
    operators: createOperators(
      stage.dataProcessor.experiencePipeline.operators,
      extensions.algorithms.operators,
    ),
    detailedStats: stage.monitor.detailedStats,
    onEvaluated: answerWriter(stage, runtime.logger),
    onProgress,
    onPause,
    onExplored: stage.trainer.enablePreview ? previewWriter(stage, runtime.logger) : undefined,
    sink,
  };
}

function dynamicSamplingOf({
  explorer,
  buffer,
  algorithm,
}: StageConfig): DynamicSampling | undefined {
  const { enable, maxBatches } = explorer.dynamicSampling;
  if (!enable) return undefined;
  const { batchSize, trainBatch, totalSteps: lastStep } = buffer;
  const { repeatTimes } = algorithm;
  return { batchSize, repeatTimes, unit: trainBatch.unit, maxBatches, lastStep };
}
