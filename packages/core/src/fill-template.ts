/** Templates with `{{name}}`, as promptfoo writes them in prompts and assertions. */
import { isTree, type Tree } from './merge-trees.js';

/** A placeholder in a template. */
export interface TemplatePlace {
  /** The placeholder as written in the template, with its braces. */
  readonly whole: string;
  readonly name: string;
  /** The row's value for the placeholder; undefined if the row has none. */
  readonly value: unknown;
  /** The value as text: an object as JSON, a list as its items with commas between them. */
  readonly text: string;
}

/**
 * Replaces each `{{name}}` and `{{name.part}}` of a string, or of the strings of a list, with the
 * result of `write`. Values of other types are returned unchanged. A key that contains a dot takes
 * precedence over a path.
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
