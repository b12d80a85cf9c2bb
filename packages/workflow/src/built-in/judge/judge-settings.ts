/** Returns the judge that `workflow_args` select, and calls it within the configured limits. */
import { RewardError, type ChatMessage } from '@trinity-rft/core';
import { auxiliaryModel } from '../../auxiliary/find-auxiliary-model.js';
import type { AgentModel, WorkflowContext } from '../../definition/types.js';
import { z } from 'zod';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { auxiliaryName, count, positive } from '../task-args.js';
import { askJudge } from './ask-judge.js';

/**
 * Schema fields for the limits of a judge's calls: maximum number of calls, and maximum number of
 * seconds per call.
 */
export const judgeLimits = {
  judge_attempts: count().default(2),
  judge_timeout: positive().default(60),
};

/**
 * Schema of `workflow_args`. `judge`: name or index of an auxiliary model. `judge_attempts`:
 * maximum number of calls. `judge_timeout`: maximum number of seconds per call.
 */
export const judgeArgs = z.strictObject({ judge: auxiliaryName().default(0), ...judgeLimits });

/** Schema of `workflow_args` for workflows whose judge is not an auxiliary model. */
export const ownJudgeArgs = z.strictObject(judgeLimits);

const ofAnyJudge = z.looseObject(judgeLimits);

export interface JudgeRequest<T> {
  readonly messages: readonly ChatMessage[];
  readonly parse: (answer: string) => T | undefined;
  readonly expected: string;
}

/**
 * Returns the auxiliary model that `workflow_args.judge` selects by name or index; by default the
 * first one.
 * @throws ConfigError when there is no such model
 */
export function judgeOf({ task, auxiliaryModels }: WorkflowContext): AgentModel {
  return auxiliaryModel(auxiliaryModels, readWorkflowArgs(judgeArgs, task.workflowArgs).judge);
}

/**
 * Calls the judge with at most `judge_attempts` (default 2) calls of `judge_timeout` (default 60)
 * seconds each.
 * @throws RewardError if the judge gives no verdict, because a failure is not a reward of 0
 */
export async function ask<T>(
  context: WorkflowContext,
  judge: AgentModel,
  request: JudgeRequest<T>,
): Promise<T> {
  const { task, runtime, signal } = context;
  const args = readWorkflowArgs(ofAnyJudge, task.workflowArgs);
  const { value, failure } = await askJudge({
    ...request,
    judge,
    attempts: args.judge_attempts,
    timeoutMs: args.judge_timeout * 1000,
    clock: runtime.clock,
    signal,
  });
  if (value !== undefined) return value;
  throw new RewardError(`The judge "${judge.modelPath}" gave no verdict: ${failure}.`, {
    code: 'JUDGE_FAILED',
  });
}
