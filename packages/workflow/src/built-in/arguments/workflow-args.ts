/** Reading `workflow_args`, which come from YAML as they were written. */
import { ConfigError, type Task } from '@trinity-rft/core';

/** An integer of at least `min`. @throws ConfigError */
export function integerArg(
  { workflowArgs }: Task,
  name: string,
  { min, standard }: { readonly min: number; readonly standard: number },
): number {
  const value = workflowArgs[name] ?? standard;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value;
  throw wrongArg(name, value, `an integer of at least ${min}`);
}

/** A number above 0. @throws ConfigError */
export function positiveArg({ workflowArgs }: Task, name: string, standard: number): number {
  const value = workflowArgs[name] ?? standard;
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw wrongArg(name, value, 'a number above 0');
}

/** @throws ConfigError when it is not text; without a default also when it is not set */
export function textArg({ workflowArgs }: Task, name: string, standard?: string): string {
  const value = workflowArgs[name] ?? standard;
  if (typeof value === 'string' && value !== '') return value;
  throw wrongArg(name, value, 'text that is not empty');
}

export function wrongArg(name: string, value: unknown, expected: string): ConfigError {
  const got = value === undefined ? 'not set' : JSON.stringify(value);
  return new ConfigError(`workflow_args.${name} is ${got}; expected ${expected}.`, {
    code: 'WORKFLOW_ARGS',
  });
}
