/** Declares built-in reward functions, with their description, arguments and parts. */
import type { ArgSpec, ArgValues, RewardFn, RewardInput } from '@trinity-rft/core';
import { readArgs } from '@trinity-rft/core/support';
import { sharedMathChecker } from '../../checker/checker.js';
import { type MathChecker } from '../../checker/types.js';
import type { MathRule } from '../../checker/rules.js';
import { requireTruth } from './inputs.js';

/** Dependencies that reward functions receive in addition to their configured arguments. */
export interface RewardTools {
  /** Math checker that compares answers. @default the shared checker of the process */
  readonly mathChecker?: MathChecker;
}

/** Declaration of a built-in reward function. */
export interface RewardKind {
  /** Description in one sentence. */
  readonly summary: string;
  /**
   * Parts whose sum is the reward, by name, each with its meaning and its range under the default
   * weights.
   */
  readonly parts: Readonly<Record<string, string>>;
  readonly args: ArgSpec;
  /**
   * Creates the reward function from its configured arguments.
   * @throws ConfigError for an unknown argument or a value out of range
   */
  readonly create: (args: Readonly<Record<string, unknown>>, tools?: RewardTools) => RewardFn;
}

/**
 * Returns true if the answer in the response equals the reference answer. An answer that cannot be
 * compared within the time limit counts as wrong.
 * @throws RewardError if the task has no reference answer
 */
type IsRight = (rule: MathRule, input: RewardInput) => Promise<boolean>;

/**
 * Declares a built-in reward function. `create` receives the validated arguments, including
 * defaults, and a function that compares answers.
 */
export function rewardKind<S extends ArgSpec>(
  name: string,
  kind: Omit<RewardKind, 'args' | 'create'> & {
    readonly args: S;
    readonly create: (args: ArgValues<S>, isRight: IsRight) => RewardFn;
  },
): RewardKind {
  return {
    ...kind,
    create: (given, { mathChecker = sharedMathChecker } = {}) =>
      kind.create(readArgs(`reward function "${name}"`, kind.args, given), async (rule, input) => {
        const truth = requireTruth(name, input);
        return (await mathChecker.check({ rule, response: input.response, truth })).equal;
      }),
  };
}
