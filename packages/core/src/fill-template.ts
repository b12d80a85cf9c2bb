/**
 * Fills templates with placeholders such as `{{name}}`, in the syntax of promptfoo's prompts and
 * assertions.
 */
import { isTree, type Tree } from './merge-trees.js';

/** A placeholder in a template. */
export interface TemplatePlace {
  /** The placeholder as written in the template, with its braces. */
  readonly whole: string;
  readonly name: string;
  /** Value that the row has for the placeholder; undefined if it has none. */
  readonly value: unknown;
  /** The value as text: an object as JSON, a list as its items with commas between them. */
  readonly text: string;
}

/**
 * Replaces each `{{name}}` and `{{name.part}}` with the result of `write`, in a string or in all
 * strings of a list. Returns values of other types unchanged. `name.part` is the key with this name
 * if the row has one, otherwise a path.
 */
export function fillTemplate<T>(template: T, row: Tree, write: (place: TemplatePlace) => string): T;
export function fillTemplate(
  template: unknown,
  row: Tree,
  write: (place: TemplatePlace) => string,
): unknown {
  if (Array.isArray(template)) return template.map((item) => fillTemplate(item, row, write));
  if (typeof template !== 'string') return template;
  return template.replaceAll(/\{\{([^{}]*)\}\}/g, (whole, inner: string) => {
    const name = inner.trim();
    const value = ownValue(row, name) ?? name.split('.').reduce(ownValue, row as unknown);
    const text = isTree(value) ? JSON.stringify(value) : String(value);
    return write({ whole, name, value, text });
  });
}

const ownValue = (at: unknown, key: string): unknown =>
  typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Tree)[key] : undefined;
