/**
 * Reads the arguments of workflows and environments by their schema, and lists the problems of
 * arguments that do not fit.
 */
import { ConfigError } from './errors.js';
import { isSecretName, redacted } from './secrets.js';
import { didYouMean } from './suggest.js';

/**
 * A synchronous schema that implements Standard Schema (version 1), such as those of zod, valibot
 * and arktype.
 */
export interface ArgsSchema<Args = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Args> | Promise<Validated<Args>>;
    readonly types?: { readonly input: unknown; readonly output: Args } | undefined;
  };
}

type Validated<Args> =
  | { readonly value: Args; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** One problem of the arguments. */
export interface ArgProblem {
  /** Path to the value: keys and list indices, relative to the arguments. */
  readonly path: readonly (string | number)[];
  /** Problem and expected value. Contains no secrets. */
  readonly message: string;
}

type Args = Readonly<Record<string, unknown>>;

/** How error messages name the owner of the arguments, such as a workflow. */
export interface ArgsOwner {
  /** Configuration key of the arguments: `workflow_args`. */
  readonly key: string;
  /** Noun for the owner, such as `workflow` in "the workflow has no argument". */
  readonly word: string;
  /** Code of the `ConfigError`, such as `WORKFLOW_ARGS`. */
  readonly code: string;
}

/**
 * Lists the problems of `args`; empty if the arguments fit the schema.
 * @throws ConfigError for an asynchronous schema
 */
export function argProblems(
  schema: ArgsSchema,
  args: Args,
  owner: ArgsOwner,
): readonly ArgProblem[] {
  const result = validate(schema, args, owner);
  return result.issues === undefined
    ? []
    : result.issues.flatMap((issue) => problemsOf(issue, schema, args, owner));
}

/**
 * Validates the arguments. Returns them as the schema outputs them, that is, converted and with
 * defaults.
 * @throws ConfigError for arguments that do not fit the schema
 */
export function readArgsBy<A>(schema: ArgsSchema<A>, args: Args, owner: ArgsOwner): A {
  const result = validate(schema, args, owner);
  if (result.issues === undefined) return result.value;
  const problems = result.issues.flatMap((issue) => problemsOf(issue, schema, args, owner));
  const lines = problems.map(
    ({ path, message }) => `${[owner.key, ...path].join('.')}: ${message}`,
  );
  throw new ConfigError(lines.join('\n'), { code: owner.code });
}

function validate<A>(schema: ArgsSchema<A>, args: Args, { key, code }: ArgsOwner): Validated<A> {
  const result = schema['~standard'].validate(args);
  if (!(result instanceof Promise)) return result;
  throw new ConfigError(
    `The schema of ${key} is asynchronous, which cannot be checked before a run. Remove its asynchronous parts.`,
    { code },
  );
}

/**
 * Converts an issue of the schema to one problem, or to one problem per key if the issue lists
 * unknown keys.
 */
function problemsOf(
  issue: Issue,
  schema: ArgsSchema,
  args: Args,
  { word }: ArgsOwner,
): readonly ArgProblem[] {
  const path = (issue.path ?? []).map((part) =>
    plainKey(typeof part === 'object' ? part.key : part),
  );
  const { keys } = issue as { readonly keys?: unknown };
  if (Array.isArray(keys))
    return keys.map((key) => ({
      path: [...path, String(key)],
      message: unknownText(String(key), path.length === 0 ? shapeOf(schema) : [], word),
    }));
  return [{ path, message: valueText(valueAt(args, path), path, issue.message) }];
}

const plainKey = (key: PropertyKey): string | number =>
  typeof key === 'number' ? key : String(key);

/** Returns the keys of a zod object schema, or an empty list for other schemas. */
const shapeOf = (schema: ArgsSchema): readonly string[] =>
  Object.keys((schema as { readonly shape?: object }).shape ?? {});

function unknownText(key: string, known: readonly string[], word: string): string {
  const takes = known.length === 0 ? '' : ` It takes ${known.join(', ')}.`;
  return `the ${word} has no argument "${key}".${didYouMean(key, known) || takes || ' Remove it.'}`;
}

/**
 * Returns the message of a problem with one value. The messages of Trinity's own schemas begin with
 * "expected", and are joined to the text before them; those of other libraries become a separate
 * sentence.
 */
function valueText(value: unknown, path: readonly (string | number)[], message: string): string {
  const secret = path.some((part) => isSecretName(String(part)));
  const got =
    value === undefined ? 'is not set' : `got ${secret ? redacted : JSON.stringify(value)}`;
  const end = message.endsWith('.') ? '' : '.';
  return message.startsWith('expected') ? `${got}, ${message}${end}` : `${got}. ${message}${end}`;
}

function valueAt(args: Args, path: readonly (string | number)[]): unknown {
  let value: unknown = args;
  for (const part of path) value = (value as Record<string | number, unknown> | undefined)?.[part];
  return value;
}
