/** The judge that `workflow_args` select, and the limits of its calls. */
import type { ChatMessage } from '@trinity-rft/core';
import { auxiliaryModel } from '../../auxiliary/find-auxiliary-model.js';
import type { AgentModel, WorkflowContext } from '../../definition/types.js';
import { integerArg, positiveArg, invalidArg } from '../task-args.js';
import { askJudge, type Verdict } from './ask-judge.js';

export interface JudgeRequest<T> {
  readonly messages: readonly ChatMessage[];
  readonly parse: (answer: string) => T | undefined;
  readonly expected: string;
}

/**
 * The auxiliary model that `workflow_args.judge` selects by name or position; by default the first.
 * @throws ConfigError when there is none
 */
export function judgeOf({ task, auxiliaryModels }: WorkflowContext): AgentModel {
  const which = task.workflowArgs['judge'] ?? 0;
  if (typeof which !== 'string' && typeof which !== 'number')
    throw invalidArg('judge', which, 'a name or a position in explorer.auxiliary_models');
  return auxiliaryModel(auxiliaryModels, which);
}

/** Asks within the limits of `judge_attempts` (2) and `judge_timeout` (60 seconds). */
export async function ask<T>(
  context: WorkflowContext,
  judge: AgentModel,
  request: JudgeRequest<T>,
): Promise<Verdict<T>> {
  const { task, runtime, signal } = context;
  const verdict = await askJudge({
    ...request,
    judge,
    attempts: integerArg(task, 'judge_attempts', { min: 1, fallback: 2 }),
    timeoutMs: positiveArg(task, 'judge_timeout', 60) * 1000,
    clock: runtime.clock,
    signal,
  });
  if (verdict.failure !== undefined) {
    runtime.logger.debug(
      `The judge gave no verdict on task ${task.batchId}/${task.taskId}: ${verdict.failure}`,
      { attempts: verdict.attempts },
    );
  }
  return verdict;
}
