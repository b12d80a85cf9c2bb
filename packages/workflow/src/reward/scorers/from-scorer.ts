/** Converts scorers of evaluation libraries to reward functions. */
import {
  RewardError,
  type ReasonedReward,
  type RewardFn,
  type RewardInput,
} from '@trinity-rft/core';
import { assertionScorer, isAssertions, type Assertion } from './assertions.js';
import { readScores } from './read-scores.js';

/**
 * A scorer of an evaluation library: a function of autoevals, Braintrust, evalite, openevals,
 * LangSmith or Langfuse, an object that contains such a function (evalite's `{ scorer }`,
 * vitest-evals' judge `{ assess }`), or assertions of promptfoo.
 */
export type Scorer =
  // oxlint-disable-next-line typescript/no-explicit-any -- each library types its own argument
  | ((args: any) => unknown)
  // oxlint-disable-next-line typescript/no-explicit-any
  | { readonly name?: string | undefined; readonly scorer: (args: any) => unknown }
  // oxlint-disable-next-line typescript/no-explicit-any
  | { readonly name?: string | undefined; readonly assess: (context: any) => unknown }
  | Assertion
  | readonly Assertion[];

export interface FromScorerOptions {
  /**
   * Name of the metric for scores without a name.
   * @default the scorer's own name, otherwise `score`
   */
  readonly name?: string;
  /**
   * Creates the argument with which the scorer is called. Needed if the scorer reads other columns
   * of the task, or an answer that is not text.
   * @default {@link scorerArguments}
   */
  readonly map?: (input: RewardInput) => unknown;
}

/**
 * Creates the default argument of a scorer, with the field names of all libraries: `input`,
 * `output`, `expected`; `inputs`, `outputs`, `referenceOutputs`, `reference_outputs`;
 * `expectedOutput`. `metadata` is the task's row.
 */
export function scorerArguments({ prompt, response, truth, rawTask }: RewardInput) {
  const [input, output, expected] = [prompt ?? '', response, truth];
  return {
    input,
    output,
    expected,
    expectedOutput: expected,
    inputs: input,
    outputs: output,
    referenceOutputs: expected,
    reference_outputs: expected,
    metadata: rawTask,
  };
}

/**
 * Creates a reward function that calls the scorer. Each score becomes a part of the reward under
 * its name. True counts as 1, and false as 0. Explanations are stored as reasons. The reward is the
 * sum of all scores.
 * @throws RewardError (when the function is called) if the scorer throws, reports an error, or
 * returns neither a number nor a boolean, or two scores with the same name. The rollout then fails
 * instead of getting a reward of 0
 */
export function fromScorer(scorer: Scorer, options: FromScorerOptions = {}): RewardFn {
  const { call, name } = callable(scorer);
  const title = options.name ?? name ?? 'score';
  const { map = scorerArguments } = options;
  return async (input): Promise<ReasonedReward> => readScores(await call(map(input)), title);
}

interface Callable {
  readonly call: (args: unknown) => unknown;
  readonly name: string | undefined;
}

function callable(scorer: Scorer): Callable {
  if (typeof scorer === 'function') return { call: scorer, name: scorer.name || undefined };
  if (isAssertions(scorer)) return { call: assertionScorer(scorer), name: 'assertions' };
  if ('scorer' in scorer) return { call: (args) => scorer.scorer(args), name: scorer.name };
  if ('assess' in scorer) return { call: (args) => scorer.assess(args), name: scorer.name };
  throw new RewardError(
    `A scorer is a function, an object with scorer or assess, or a list of assertions; got an object with ${Object.keys(scorer).join(', ') || 'no keys'}.`,
    { code: 'SCORER_FORM' },
  );
}
