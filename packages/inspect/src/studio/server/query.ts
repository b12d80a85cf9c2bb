/** Reads the query string of a request by the schemas of its route. */
import { ConfigError } from '@trinity-rft/core';
import type { z } from 'zod';
import type { QueryOf, Route } from '../interface/route.js';

/**
 * Reads the parameters of a route; empty values count as absent.
 * @throws ConfigError for a parameter that the route does not have, and for a value that the schema
 * of its parameter rejects
 */
export function readQuery<R extends Route>(
  query: R['query'],
  given: Readonly<Record<string, string>>,
): QueryOf<R> {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(query, name));
  if (unknown !== undefined)
    throw new ConfigError(
      `There is no parameter ${JSON.stringify(unknown)} here; expected ${Object.keys(query).join(', ') || 'none'}.`,
      { code: 'ARGUMENT_INVALID' },
    );
  return Object.fromEntries(
    Object.entries(query).map(([name, schema]) => [name, read(name, schema, given[name])]),
  ) as QueryOf<R>;
}

function read(name: string, schema: z.ZodType, given: string | undefined): unknown {
  const text = given === '' ? undefined : given;
  const asText = schema.safeParse(text);
  if (asText.success) return asText.data;
  const asNumber = schema.safeParse(text?.trim() ? Number(text) : text);
  if (asNumber.success) return asNumber.data;
  const { description } = schema;
  throw new ConfigError(
    `The parameter ${name} is ${text === undefined ? 'missing' : JSON.stringify(text)}; expected ${expectedBy(asText.error.issues[0])}.${description === undefined ? '' : ` ${name}: ${description}`}`,
    { code: 'ARGUMENT_INVALID' },
  );
}

function expectedBy(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'invalid_type') return `a ${issue.expected}`;
  if (issue?.code === 'invalid_value') return `one of ${issue.values.join(', ')}`;
  return issue?.message ?? 'another value';
}
