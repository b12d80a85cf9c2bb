/** The explorer's options, from the configuration of a stage. */
import { createOperators } from '@trinity-rft/algorithm';
import type { ChatFormat } from '@trinity-rft/chat';
import type { MetricSink } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { DynamicSampling, ExplorerOptions } from '@trinity-rft/explorer';
import { createEnvironmentCircuits, type TaskRunnerOptions } from '@trinity-rft/explorer/internal';
import type { EndpointServer } from '@trinity-rft/model';
import type { StageConfig } from '@trinity-rft/config';
import type { StageContext } from '../context/stage-context.js';
import { rewardFnFinder } from './reward-functions.js';
import type { AuxiliaryModels } from './models/auxiliary-models.js';
import { modelFactory } from './models/rollout-model.js';
import { answerWriter } from './data/evaluation-answers.js';
import { previewWriter } from './data/rollout-preview.js';
import type { StageTasks } from './data/tasks.js';

interface RunParts {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  readonly auxiliary: AuxiliaryModels;
  readonly endpoint: EndpointServer;
}

/** Where runs are made, and with which weights. */
export type RunSide = Pick<ExplorerOptions, 'createModel' | 'policyVersion' | 'runTasks'>;

/** Runs of this process, with its own sampler. */
export const runsHere = (context: StageContext, parts: RunParts): RunSide => ({
  createModel: modelFactory(context, parts),
  policyVersion: () => parts.sampler.policyVersion,
});

/** Options for making runs, wherever their tasks come from. */
export function taskRunnerOptions(
  { stage, runtime, workflows, rewardFns, onPause }: StageContext,
  { createModel }: Pick<RunSide, 'createModel'>,
): Omit<TaskRunnerOptions, 'signal'> & Required<Pick<ExplorerOptions, 'settings' | 'circuits'>> {
  return {
    settings: stage.explorer,
    workflow: (name) => workflows.get(name),
    rewardFn: rewardFnFinder(rewardFns),
    createModel,
    circuits: createEnvironmentCircuits({ settings: stage.explorer, onPause, ...runtime }),
    runtime,
  };
}

interface ExplorerParts {
  readonly runs: RunSide;
  readonly tasks: StageTasks;
  readonly sink: MetricSink;
}

export function explorerOptions(
  context: StageContext,
  { runs, tasks, sink }: ExplorerParts,
): Omit<ExplorerOptions, 'store' | 'sync' | 'signal' | 'advantage'> {
  const { stage, runtime, algorithms, onProgress } = context;
  return {
    ...taskRunnerOptions(context, runs),
    runTasks: runs.runTasks,
    policyVersion: runs.policyVersion,
    feed: tasks.feed,
    evalSets: tasks.evalSets,
    dynamicSampling: dynamicSamplingOf(stage),
    // A step may draw more tasks than a batch has, so the number of tasks is no bound of the steps.
    maxSteps: stage.buffer.totalSteps,
    operators: createOperators(
      stage.dataProcessor.experiencePipeline.operators,
      algorithms.operators,
    ),
    detailedStats: stage.monitor.detailedStats,
    onEvaluated: answerWriter(stage, runtime.logger),
    onProgress,
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
