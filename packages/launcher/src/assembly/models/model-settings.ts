/** Derives the sampling settings of a model from its configuration. */
import type { RolloutModelConfig } from '@trinity-rft/config';
import { type Task, taskKey } from '@trinity-rft/core';
import type { RolloutModelOptions } from '@trinity-rft/model';

/** Returns those options of a rollout model that the configuration determines. */
export function modelSettings({
  maxPromptTokens,
  maxResponseTokens,
  maxModelLen,
  minResponseTokens,
  enableThinking,
  temperature,
  topP,
  topK,
}: Omit<RolloutModelConfig, 'name'>) {
  return {
    limits: { maxPromptTokens, maxResponseTokens, maxModelLen },
    defaults: {
      temperature,
      topP,
      topK,
      maxTokens: maxResponseTokens,
      minTokens: minResponseTokens,
    },
    enableThinking,
  } satisfies Partial<RolloutModelOptions>;
}

/**
 * Returns the part of a seed that identifies the task: `batch/task`. In an evaluation, the name of
 * the task set replaces the batch.
 */
export const seedKeyOf = ({ isEval, batchId, taskId, index }: Task, run: number): string =>
  taskKey({ batch: isEval ? index.taskset : batchId, task: taskId, run, step: 0, suffix: '' });
