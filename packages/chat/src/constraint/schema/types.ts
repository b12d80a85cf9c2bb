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
  /** The rule of values that satisfy all of the schemas. */
  rule(nodes: readonly (SchemaNode | boolean)[]): number;
  /**
   * Returns true if types, `enum`, `const` or combinations of schemas already show that no value
   * satisfies all schemas.
   */
  isPlainlyEmpty(nodes: readonly (SchemaNode | boolean)[]): boolean;
  /** The strings that satisfy all of the schemas. */
  texts(nodes: readonly (SchemaNode | boolean)[]): Language;
  /**
   * Strings that satisfy all of the schemas, as a list; undefined if the schemas do not enumerate
   * them.
   */
  namedTexts(nodes: readonly (SchemaNode | boolean)[]): readonly string[] | undefined;
  /** The strings in which a pattern matches. */
  pattern(source: string, path: string): Language;
}

/** Schema key for the values that a negation excludes. */
export const excludedValues = Symbol('excluded values');
/** Schema key that is true if a negation excludes whole numbers. */
export const excludedIntegers = Symbol('excluded integers');
/** Schema key for the pattern that a negation excludes. */
export const excludedPattern = Symbol('excluded pattern');

export const types = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;
/** `integer` means whole numbers, a subset of `number`. */
export type SchemaType = (typeof types)[number] | 'integer';

export function typeOf(value: unknown): (typeof types)[number] {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as (typeof types)[number];
}

/** The largest value of a keyword; 0 if no schema has the keyword. */
export const highest = (nodes: Conjunction, keyword: string): number =>
  Math.max(0, ...nodes.map(({ schema }) => (schema[keyword] as number | undefined) ?? 0));

/** The smallest value of a keyword; infinite if no schema has the keyword. */
export const lowest = (nodes: Conjunction, keyword: string): number =>
  Math.min(...nodes.map(({ schema }) => (schema[keyword] as number | undefined) ?? Infinity));
