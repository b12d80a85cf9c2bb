/** Describes the arguments of an environment for users. */
import type { ArgsSchema } from '@trinity-rft/core';
import { z } from 'zod';

export interface DescribedArg {
  readonly name: string;
  /**
   * Type, range, default and meaning of an argument, such as `integer from 1 up to 3, default 2`.
   */
  readonly text: string;
}

/**
 * Describes the arguments of a schema. Returns undefined if the schema is not one of zod 4, because
 * those of zod 3 cannot be converted.
 */
export function describeArgs(schema: ArgsSchema): readonly DescribedArg[] | undefined {
  if (!('_zod' in schema)) return undefined;
  const { properties = {}, required = [] } = z.toJSONSchema(schema as unknown as z.ZodType, {
    io: 'input',
    unrepresentable: 'any',
  });
  return Object.entries(properties).map(([name, property]) => ({
    name,
    text: `${textOf(property as Property)}${required.includes(name) ? ', required' : ''}`,
  }));
}

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

function textOf(property: Property): string {
  const { type = 'anything', enum: words, default: fallback, description } = property;
  const kind = words === undefined ? `${type}${rangeOf(property)}` : words.join(' | ');
  const standard = fallback === undefined ? '' : `, default ${JSON.stringify(fallback)}`;
  return `${kind}${standard}${description === undefined ? '' : `. ${description}`}`;
}

/**
 * Returns the range of a number as text. Omits the limits of safe integers, which zod adds to
 * integer schemas without limits.
 */
function rangeOf({ minimum = -Infinity, maximum = Infinity }: Property): string {
  const low = minimum <= Number.MIN_SAFE_INTEGER ? '' : ` from ${minimum}`;
  const high = maximum >= Number.MAX_SAFE_INTEGER ? '' : ` up to ${maximum}`;
  return `${low}${high}`;
}
