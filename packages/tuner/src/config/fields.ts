/** Validates arguments and results of users' functions. */
import { ConfigError } from '@trinity-rft/core';
import { z } from 'zod';

/**
 * Describes each invalid field, for example as `maxModelLen: got -1; expected a number of at least
 * 2`.
 */
export function describeIssues(error: z.ZodError): string {
  return error.issues
    .map((issue) => `${issue.path.length === 0 ? 'it' : issue.path.join('.')}: ${issue.message}`)
    .join('; ');
}

/**
 * Validates fields against a schema, and returns them with defaults.
 * @throws ConfigError naming every invalid or unknown field
 */
export function checkFields<Schema extends z.ZodType>(
  what: string,
  schema: Schema,
  fields: unknown,
): z.output<Schema> {
  const checked = schema.safeParse(fields);
  if (checked.success) return checked.data;
  throw new ConfigError(`${what} is invalid: ${describeIssues(checked.error)}.`, {
    code: 'TUNER_FIELDS',
    cause: checked.error,
  });
}

export const text = z.string().min(1);
export const count = z.int().min(1);
