/**
 * Reads fields of a task for the built-in workflows. The fields come from a YAML file, so their
 * types must be checked.
 */
import { ConfigError, type ChatOptions } from '@trinity-rft/core';
import type { RolloutArgs } from '@trinity-rft/core/internal';
import { z } from 'zod';

/**
 * Converts `rollout_args` to options of `chat`. Leaves out `n` and `logprobs`, which the workflow
 * sets itself.
 */
export const chatOptions = ({ temperature, topP, topK, maxTokens }: RolloutArgs): ChatOptions => ({
  temperature,
  topP,
  topK,
  maxTokens,
});

/** Schema of `workflow_args` for a workflow that takes no arguments. */
export const noArgs = z.strictObject({});

export const trueOrFalse = () => z.boolean('expected true or false');

/** Returns the schema of an argument that is an integer of at least 1. */
export const count = () => {
  const error = 'expected an integer of at least 1';
  return z.int(error).min(1, error);
};

/** Returns the schema of an argument that is a number above 0. */
export const positive = () => {
  const error = 'expected a number above 0';
  return z.number(error).positive(error);
};

export const words = () => {
  const error = 'expected non-empty text';
  return z.string(error).min(1, error);
};

/** Returns the schema of an argument that is the name or the index of an auxiliary model. */
export const auxiliaryName = () =>
  z.union(
    [z.string(), z.int().min(0)],
    'expected a name or a position in explorer.auxiliary_models',
  );

/** Creates the error for an argument that is invalid for a reason that a schema cannot express. */
export function invalidArg(name: string, value: unknown, expected: string): ConfigError {
  return new ConfigError(
    `workflow_args.${name}: got ${JSON.stringify(value)}, expected ${expected}.`,
    { code: 'WORKFLOW_ARGS' },
  );
}
