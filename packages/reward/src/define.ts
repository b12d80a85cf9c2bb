/** How a built-in reward function is declared: what it is, what it takes, what it returns. */
import { readArgs, type ArgSpec, type ArgValues, type RewardFn } from '@trinity-rft/core';

/** A row of the table of reward functions. */
export interface RewardKind {
  /** One sentence. */
  readonly summary: string;
  /** By name of the part: what it says and its range under the default weights. The reward is the sum of the parts. */
  readonly parts: Readonly<Record<string, string>>;
  readonly args: ArgSpec;
  /** @throws ConfigError for an unknown argument or a value out of range */
  readonly create: (args: Readonly<Record<string, unknown>>) => RewardFn;
}

/** Declares a reward function; `create` gets its arguments checked and completed. */
export function rewardKind<S extends ArgSpec>(
  name: string,
  kind: Omit<RewardKind, 'args' | 'create'> & { readonly args: S; readonly create: (args: ArgValues<S>) => RewardFn },
): RewardKind {
  return { ...kind, create: (given) => kind.create(readArgs(`reward function "${name}"`, kind.args, given)) };
}
