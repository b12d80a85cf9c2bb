/** Selects the judge: the auxiliary model of the training run that grades answers. */
import { EnvironmentError } from '@trinity-rft/core';
import type { Judge } from '@trinity-rft/environment';
import {
  askJudge,
  auxiliaryModel,
  type Grader,
  type GraderContext,
  type WorkflowContext,
} from '@trinity-rft/workflow';
import { judgeLimits } from '@trinity-rft/workflow';
import { z } from 'zod';

/**
 * Schema of the `judge` argument and the limits of a judge call. `judge` is the name or index of an
 * auxiliary model (default: the first), or false to grade by comparing words instead.
 */
export const judgeShape = {
  judge: z
    .union(
      [z.string(), z.int().min(0), z.literal(false)],
      'expected a name or a position in explorer.auxiliary_models, or false',
    )
    .optional(),
  ...judgeLimits,
};

const judgeSettings = z.object(judgeShape);
export type JudgeSettings = z.output<typeof judgeSettings>;

type Context = Pick<WorkflowContext, 'auxiliaryModels' | 'runtime' | 'signal'>;

/**
 * Returns the judge that the settings select, or undefined if answers are graded by comparing words
 * instead.
 * @throws ConfigError if there is no auxiliary model with that name or index
 */
export function judgeOf(context: Context, settings: JudgeSettings): Judge | undefined {
  const { auxiliaryModels, runtime, signal } = context;
  const { judge: which = auxiliaryModels.size > 0 ? 0 : false } = settings;
  if (which === false) return undefined;
  const judge = auxiliaryModel(auxiliaryModels, which);
  const limits = {
    attempts: settings.judge_attempts,
    timeoutMs: settings.judge_timeout * 1000,
    clock: runtime.clock,
    signal,
  };
  return {
    ask: async (question) => {
      const { value, failure = '' } = await askJudge({ ...question, ...limits, judge });
      if (value === undefined) throw noVerdict(judge.modelPath, failure);
      return value;
    },
  };
}

/**
 * Judge for checks before the training run. Such a check only starts an episode, so the judge is
 * never called.
 */
export const idleJudge: Judge = {
  ask: () => Promise.reject(new EnvironmentError('A check of rows asks no judge.')),
};

type Choice = Pick<JudgeSettings, 'judge'>;

/**
 * Returns the `judge` setting, or false (no judge) if the reward function's arguments contain
 * Trinity-RFT's `llm_as_a_judge: false`.
 */
export const choiceOf = (
  { judge }: Choice,
  rewardFnArgs: GraderContext['rewardFnArgs'],
): Choice => ({
  judge: rewardFnArgs['llm_as_a_judge'] === false ? false : judge,
});

/**
 * Describes how answers are graded: by a judge or by comparing words.
 * @param expected true if Trinity-RFT's workflow of the same name always has a judge; the result
 * then warns if there is none
 */
export function graderOf(
  { judge = 0 }: Choice,
  { models, expected }: { readonly models: readonly string[]; readonly expected: boolean },
): Grader {
  if (judge === false) return { text: 'words' };
  const named = typeof judge === 'string' ? judge : models[judge];
  if (named !== undefined) return { text: `the judge ${named}` };
  return { text: 'words', warning: expected ? noJudge : undefined };
}

const noJudge =
  'compares answers by words, because explorer.auxiliary_models has no judge as in Trinity-RFT. Add one, or say that words are meant: workflow_args.judge: false.';

const noVerdict = (name: string, failure: string): EnvironmentError =>
  new EnvironmentError(
    `The judge "${name}" of explorer.auxiliary_models gave no verdict: ${failure}.`,
    {
      code: 'JUDGE_FAILED',
    },
  );
