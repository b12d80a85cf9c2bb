/**
 * Creates schemas for the arguments of algorithm parts, and converts names of arguments from and to
 * YAML.
 */
import type { Arg, ArgSpec } from '@trinity-rft/core';
import { z } from 'zod';
import { field, maybe, section } from './fields.js';
import { expectations, flag, float, floatOr, oneOf, text } from './scalars.js';

/** Converts `clipRangeLow` to `clip_range_low`. */
export const yamlName = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Converts the names of arguments to YAML names, and leaves the values unchanged. */
export const toYaml = (
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [yamlName(name), value]));

/** Converts `clip_range_low` to `clipRangeLow`. */
export const codeName = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Converts the YAML names of arguments to camelCase, and leaves the values unchanged. */
export const fromPlainArgs = (
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [codeName(name), value]));

/**
 * Creates the schema of a section such as `policy_loss_fn_args`. Values in `defaults`, keyed by the
 * names of the specification, replace the defaults of the specification.
 */
export function argsSchema(
  spec: ArgSpec,
  description: string,
  defaults: Readonly<Record<string, unknown>> = {},
): ArgsSchema {
  const shape = Object.entries(spec).map(
    ([name, arg]) => [yamlName(name), argSchema(arg, defaults[name] ?? arg.fallback)] as const,
  );
  return section(Object.fromEntries(shape), description);
}

export type ArgsSchema = ReturnType<typeof section<Readonly<Record<string, z.ZodType>>>>;

/** Returns arguments under the names of the specification, except arguments that have no value. */
export function fromYaml(
  spec: ArgSpec,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const named = Object.keys(spec).map((name) => [name, values[yamlName(name)]] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== null && value !== undefined));
}

/** Creates the schema of one argument. The argument may be null if it has no default. */
function argSchema(arg: Arg<unknown>, value: unknown): z.ZodType {
  const { fallback, help } = arg;
  const schema = valueSchema(arg);
  if (fallback !== undefined) return field(schema, value, help);
  return maybe(schema, help).default(value ?? null);
}

function valueSchema(arg: Arg<unknown>): z.ZodType {
  const { form } = arg;
  switch (form?.type) {
    case 'number':
      return form.word === undefined ? float(form) : floatOr(form.word, form);
    case 'boolean':
      return flag();
    case 'text':
      return text();
    case 'choice':
      return oneOf(form.words as [string, ...string[]]);
    case 'list':
      return checked(z.array(z.unknown()), arg);
    case undefined:
      return checked(z.unknown(), arg);
  }
}

/** Adds the argument's own check to a schema. */
function checked(schema: z.ZodType, { accepts, expected }: Arg<unknown>): z.ZodType {
  const refined = schema.refine(accepts);
  expectations.add(refined, { text: expected });
  return refined;
}
