/** `workflow_args` of workflows that play environments. */
import type { ArgProblem } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import type { EnvironmentDefinition } from '@trinity-rft/environment';
import { patternOf, type Environments, type PlayOptions } from '@trinity-rft/environment/playing';
import { count, positive } from '@trinity-rft/workflow';
import { z } from 'zod';
import { judgeShape } from './judge.js';

/** Settings for playing an episode, common to all environments. */
const playShape = {
  max_turns: count().optional(),
  action_pattern: z
    .string('expected a regular expression')
    .refine(isPattern, 'expected a regular expression')
    .optional(),
  reward: z.enum(['last', 'sum', 'max'], 'expected last, sum or max').optional(),
  reward_threshold: z.number('expected a number').optional(),
  environment_timeout: positive().default(60),
  environment_start_timeout: positive().default(300),
  ...judgeShape,
};

export const environmentArgs = z.strictObject({
  environment: z.string('expected the name of an environment'),
  environment_args: z.record(z.string(), z.unknown(), 'expected a mapping').default({}),
  ...playShape,
});

export type EnvironmentArgs = z.output<typeof environmentArgs>;

function isPattern(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the problems of `workflow_args` that the schema does not find: an unknown environment,
 * invalid `environment_args`, or a `judge` for an environment that does not use one. Returns an
 * empty list if the arguments do not pass the schema.
 */
export function environmentProblems(
  args: Readonly<Record<string, unknown>>,
  environments: Pick<Environments, 'find' | 'names'>,
): readonly ArgProblem[] {
  const { data } = environmentArgs.safeParse(args);
  if (data === undefined) return [];
  const definition = environments.find(data.environment);
  if (definition === undefined)
    return [{ path: ['environment'], message: unknown(data.environment, environments.names()) }];
  const ofArgs = definition
    .checkArgs(data.environment_args)
    .map(({ path, message }) => ({ path: ['environment_args', ...path], message }));
  const asksNone = !definition.judged && data.judge !== undefined;
  return asksNone ? [...ofArgs, { path: ['judge'], message: noJudge(data) }] : ofArgs;
}

const noJudge = ({ environment, judge }: EnvironmentArgs): string =>
  `got ${JSON.stringify(judge)}, but the environment ${environment} asks no judge. Leave it out.`;

function unknown(name: string, known: readonly string[]): string {
  const similar = didYouMean(name, known);
  const rest = similar === '' ? ` Known: ${known.toSorted().join(', ')}.` : similar;
  return `got "${name}", but there is no such environment.${rest} One of your own comes from a plugin.`;
}

/**
 * Returns the options for playing an episode. Where an argument is missing, the environment's
 * default applies.
 */
export function playOptions(
  args: EnvironmentArgs,
  { play }: EnvironmentDefinition,
): Omit<PlayOptions, 'chat' | 'systemPrompt'> {
  const { action_pattern: own } = args;
  const { actionFormat: format } = play;
  const ofWorld = format === undefined ? undefined : patternOf(format);
  return {
    maxTurns: args.max_turns ?? play.maxTurns ?? 20,
    actionHint: own ?? format,
    actionPattern: own === undefined ? ofWorld : new RegExp(own, 'g'),
    reward: args.reward ?? play.reward ?? 'sum',
    rewardThreshold: args.reward_threshold,
  };
}
