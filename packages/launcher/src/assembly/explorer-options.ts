/** The explorer's options, from the configuration of a stage. */
import { createOperators } from '@trinity-rft/algorithm';
import type { ChatFormat } from '@trinity-rft/chat';
import type { MetricSink, Sampler } from '@trinity-rft/core';
import type { DynamicSampling, ExplorerOptions } from '@trinity-rft/explorer';
import type { EndpointServer } from '@trinity-rft/model';
import type { StageConfig } from '@trinity-rft/config';
import type { StageContext } from '../context/stage-context.js';
import { rewardFnFinder } from './reward-functions.js';
import type { AuxiliaryModels } from './models/auxiliary-models.js';
import { modelFactory } from './models/rollout-model.js';
import { previewWriter } from './data/rollout-preview.js';
import type { StageTasks } from './data/tasks.js';

interface ExplorerParts {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  readonly auxiliary: AuxiliaryModels;
  readonly endpoint: EndpointServer;
  readonly tasks: StageTasks;
  readonly sink: MetricSink;
}

export function explorerOptions(
  context: StageContext,
  { sampler, format, auxiliary, endpoint, tasks, sink }: ExplorerParts,
): Omit<ExplorerOptions, 'store' | 'sync' | 'signal' | 'advantage'> {
  const { stage, runtime, workflows, rewardFns, algorithms } = context;
  return {
    feed: tasks.feed,
    evalSets: tasks.evalSets,
    workflow: (name) => workflows.get(name),
    rewardFn: rewardFnFinder(rewardFns),
    createModel: modelFactory(context, { sampler, format, auxiliary, endpoint }),
    policyVersion: () => sampler.policyVersion,
    settings: stage.explorer,
    dynamicSampling: dynamicSamplingOf(stage),
    // A step may draw more tasks than a batch has, so the number of tasks is no bound of the steps.
    maxSteps: stage.buffer.totalSteps,
    operators: createOperators(
      stage.dataProcessor.experiencePipeline.operators,
      algorithms.operators,
    ),
    detailedStats: stage.monitor.detailedStats,
    onExplored: stage.trainer.enablePreview ? previewWriter(stage, runtime.logger) : undefined,
    sink,
    runtime,
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
