import type { GrammarBuilder } from '../grammar/grammar.js';
import type { Language, Languages } from '../text/language.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema and its place in the request, for error messages. */
export interface SchemaNode {
  readonly schema: JsonSchema;
  readonly path: string;
}

/**
 * Schemas that a value must satisfy together. References are already resolved: the schema that
 * `$ref` names is in the list.
 */
export type Conjunction = readonly SchemaNode[];

/** Functions of the compiler that the rules of objects and arrays use. */
export interface Compiler {
  readonly grammar: GrammarBuilder;
  readonly languages: Languages;
  /** Returns the number of the rule that matches the values that satisfy all schemas. */
  rule(nodes: readonly (SchemaNode | boolean)[]): number;
  /**
   * Returns true if types, `enum`, `const` or combinations of schemas already show that no value
   * satisfies all schemas.
   */
  isPlainlyEmpty(nodes: readonly (SchemaNode | boolean)[]): boolean;
  /** Returns the language of the strings that satisfy all schemas. */
  texts(nodes: readonly (SchemaNode | boolean)[]): Language;
  /**
   * Returns the strings that satisfy all schemas, as a list; undefined if the schemas do not
   * enumerate strings.
   */
  namedTexts(nodes: readonly (SchemaNode | boolean)[]): readonly string[] | undefined;
  /**
   * Returns the language of the strings that contain a match of the regular expression `source`.
   */
  pattern(source: string, path: string): Language;
}

/** Internal keyword for schemas that `negate` creates: values that are not allowed. */
export const excludedValues = Symbol('excluded values');
/** Internal keyword for schemas that `negate` creates: true if integers are not allowed. */
export const excludedIntegers = Symbol('excluded integers');
/**
 * Internal keyword for schemas that `negate` creates: pattern that strings must not match.
 */
export const excludedPattern = Symbol('excluded pattern');

export const types = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;
/** `integer` means whole numbers, a subset of `number`. */
export type SchemaType = (typeof types)[number] | 'integer';

export function typeOf(value: unknown): (typeof types)[number] {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as (typeof types)[number];
}

/**
 * Returns the largest value that the schemas have for a keyword; 0 if no schema has the keyword.
 */
export const highest = (nodes: Conjunction, keyword: string): number =>
  Math.max(0, ...nodes.map(({ schema }) => (schema[keyword] as number | undefined) ?? 0));

/**
 * Returns the smallest value that the schemas have for a keyword; infinity if no schema has the
 * keyword.
 */
export const lowest = (nodes: Conjunction, keyword: string): number =>
  Math.min(...nodes.map(({ schema }) => (schema[keyword] as number | undefined) ?? Infinity));
