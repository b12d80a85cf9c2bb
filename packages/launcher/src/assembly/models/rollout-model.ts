/** A rollout model for each attempt. */
import type { ChatFormat } from '@trinity-rft/chat';
import { taskKey, type Sampler } from '@trinity-rft/core';
import type { AttemptKey, AttemptModel } from '@trinity-rft/explorer';
import {
  createRolloutModel,
  type EndpointMount,
  type EndpointServer,
  type RecordingModel,
} from '@trinity-rft/model';
import type { StageContext } from '../../context/stage-context.js';
import type { AuxiliaryModels } from './auxiliary-models.js';
import { mountedModel } from './endpoint.js';

/** With what the model knows about its records. */
export type RecordedAttempt = AttemptModel & { readonly model: RecordingModel };

/**
 * Seeds derive from (run seed, stage, batch, task, run, attempt, call), so an attempt samples the
 * same however often it is made.
 */
export function modelFactory(
  { stage, runtime }: StageContext,
  parts: {
    readonly sampler: Sampler;
    readonly format: ChatFormat;
    readonly auxiliary: AuxiliaryModels;
    readonly endpoint: EndpointServer;
  },
): (key: AttemptKey) => RecordedAttempt {
  const { rolloutModel } = stage.explorer;
  const { maxPromptTokens, maxResponseTokens, maxModelLen, minResponseTokens, enableThinking } =
    rolloutModel;
  const notices = new Set<string>();
  const shared = {
    sampler: parts.sampler,
    format: parts.format,
    modelPath: rolloutModel.name ?? stage.model.modelPath,
    limits: { maxPromptTokens, maxResponseTokens, maxModelLen },
    ...(enableThinking !== undefined && { enableThinking }),
    reasoning: stage.explorer.reasoningHistory,
    constrainedDecoding: stage.explorer.constrainedDecoding,
    runtime,
    notices,
  };
  return ({ task, run, attempt, signal }) => {
    const { temperature, topP, topK, maxTokens } = task.rolloutArgs;
    const key = taskKey({ batch: task.batchId, task: task.taskId, run, step: 0, suffix: '' });
    const create = (mounted: EndpointMount): RecordingModel =>
      createRolloutModel({
        ...shared,
        mounted,
        defaults: {
          minTokens: minResponseTokens,
          temperature: temperature ?? rolloutModel.temperature,
          topP: topP ?? rolloutModel.topP,
          topK: topK ?? rolloutModel.topK,
          maxTokens: maxTokens ?? maxResponseTokens,
        },
        includePromptText: stage.trainer.enablePreview,
        seedFor: (call) => runtime.seedFor('sample', stage.stageIndex, key, run, attempt, call),
        signal,
      });
    const model = mountedModel(parts.endpoint, signal, create);
    return {
      model,
      auxiliaryModels: parts.auxiliary.models({ task, run, attempt, signal }),
      metrics: () => model.metrics(),
    };
  };
}
