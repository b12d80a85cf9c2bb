/** Creates a model for each attempt at a rollout. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import type { Environment } from '@trinity-rft/buffer/internal';
import type { Runtime } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { AttemptKey, AttemptModel } from '@trinity-rft/explorer';
import { createPauseMeter } from '@trinity-rft/explorer/internal';
import { createRolloutModel, type EndpointServer, type RecordingModel } from '@trinity-rft/model';
import type { AuxiliaryModels } from './auxiliary-models.js';
import { mountedModel } from './endpoint.js';
import { externalAnswers } from './external-model.js';
import { modelSettings, seedKeyOf } from './model-settings.js';

/** Model of an attempt, with access to the calls that the model has recorded. */
export type RecordedAttempt = AttemptModel & { readonly model: RecordingModel };

/** Parts that all models of a process share. */
export interface ModelParts {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  readonly auxiliary: AuxiliaryModels;
  readonly endpoint: EndpointServer;
  /** Environment variables of the stage. */
  readonly env: Environment;
}

/**
 * Creates the function that returns the model of an attempt. The seed of each call is derived from
 * the seed of the training run, the stage, batch, task, rollout, attempt and call, so a resumed
 * training run samples the same tokens. Seeds of evaluations do not depend on the step, so all
 * checkpoints are evaluated with the same seeds.
 */
export function modelFactory(
  stage: StageConfig,
  runtime: Runtime,
  parts: ModelParts,
): (key: AttemptKey) => RecordedAttempt {
  const { rolloutModel, reasoningHistory, constrainedDecoding } = stage.explorer;
  const { defaults, ...settings } = modelSettings(rolloutModel);
  const answersOf = externalAnswers(stage, parts.env);
  const shared = {
    ...settings,
    format: parts.format,
    modelPath: rolloutModel.name ?? stage.model.modelPath,
    reasoning: reasoningHistory,
    constrainedDecoding,
    includePromptText: stage.trainer.enablePreview,
    runtime,
    notices: new Set<string>(),
  };
  return (key) => {
    const { task, run, count = 1, attempt, signal } = key;
    const { temperature, topP, topK, maxTokens } = task.rolloutArgs;
    const id = seedKeyOf(task, run);
    const pauses = createPauseMeter(runtime.clock);
    const sampler = pauses.watch(parts.sampler);
    const runs = task.isEval
      ? undefined
      : { task: `${task.batchId}/${task.taskId}`, firstRun: run, count };
    const waits = new Set<string>();
    const external = answersOf(key, waits);
    const model = mountedModel(parts.endpoint, { signal, runs }, (mounted) =>
      createRolloutModel({
        ...shared,
        sampler,
        external,
        mounted,
        defaults: {
          minTokens: defaults.minTokens,
          temperature: temperature ?? defaults.temperature,
          topP: topP ?? defaults.topP,
          topK: topK ?? defaults.topK,
          maxTokens: maxTokens ?? defaults.maxTokens,
        },
        seedFor: (call) => runtime.seedFor('sample', stage.stageIndex, id, run, attempt, call),
        signal,
      }),
    );
    return {
      model,
      external,
      info: external && { is_expert: true },
      auxiliaryModels: parts.auxiliary.models(key, waits),
      extracted: () => model.extracted(),
      metrics: () => model.metrics(),
      waitsFor: () => [...waits][0],
      longestPauseMs: () => pauses.longestPauseMs(),
    };
  };
}
