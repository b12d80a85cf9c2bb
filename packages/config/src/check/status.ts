/** Reports features of one stage that are not supported, and warns of keys that are ignored. */
import type { z } from 'zod';
import { defaultAt, schemaAt } from '../schema/introspect.js';
import { filledInText } from '../schema/fields.js';
import type { KeyStatus } from '../schema/status.js';
import { plainUnlessSecret, showValue } from '../source/secrets.js';
import { childOf, placeOf, type KeyPath, type Node } from '../source/node.js';
import type { LocatedProblem } from '../source/problem.js';

export interface StatusReport {
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/**
 * Checks the statuses of the keys that the file sets.
 * @param values values of `tree`, parsed with the schema
 */
export function checkStatus(
  tree: Node,
  values: unknown,
  schema: z.ZodType,
  rows: readonly KeyStatus[],
): StatusReport {
  const problems: LocatedProblem[] = [];
  const warnings: LocatedProblem[] = [];
  for (const row of rows) {
    for (const path of matches(tree, row.path.split('.'))) {
      const value = valueAt(values, path);
      if (!applies(row, value, defaultAt(schema, path)?.value)) continue;
      const { keyAt: at, path: key, node } = placeOf(tree, path);
      const shown = showValue(node && plainUnlessSecret(node), key);
      if (row.status === 'notSupported')
        problems.push({ at, key, message: `got ${shown}, which is not supported. ${row.note}` });
      else warnings.push({ at, key, message: `ignored (${shown}). ${row.note}` });
    }
  }
  for (const path of filledInKeys(tree, schema, [])) {
    const { keyAt: at, path: key } = placeOf(tree, path);
    warnings.push({ at, key, message: 'ignored. The run fills it in itself.' });
  }
  return { problems, warnings };
}

function applies(row: KeyStatus, value: unknown, standard: unknown): boolean {
  if (row.values !== undefined) return row.values.some((candidate) => same(candidate, value));
  if (row.except !== undefined) return !row.except.some((candidate) => same(candidate, value));
  return !same(value, standard);
}

/**
 * Returns the paths of the tree that match a pattern. In a pattern, `*` matches any index or name.
 */
function matches(tree: Node, pattern: readonly string[]): readonly KeyPath[] {
  let found: { readonly path: KeyPath; readonly node: Node }[] = [{ path: [], node: tree }];
  for (const part of pattern) {
    found = found.flatMap(({ path, node }) => {
      const names = part === '*' ? childNames(node) : [part];
      return names.flatMap((name) => {
        const child = childOf(node, name);
        return child === undefined ? [] : [{ path: [...path, name], node: child }];
      });
    });
  }
  return found.map(({ path }) => path);
}

function childNames(node: Node): readonly (string | number)[] {
  if (node.kind === 'list') return node.items.map((_, index) => index);
  return node.kind === 'map' ? [...node.entries.keys()] : [];
}

function valueAt(values: unknown, path: KeyPath): unknown {
  let value = values;
  for (const part of path)
    value = (value as Record<string | number, unknown> | undefined | null)?.[part];
  return value;
}

/** Returns true if the value at a path is the default of the schema. */
export const isDefault = (schema: z.ZodType, values: unknown, path: KeyPath): boolean =>
  same(valueAt(values, path), defaultAt(schema, path)?.value);

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function filledInKeys(node: Node, schema: z.ZodType, path: KeyPath): readonly KeyPath[] {
  const isFilledIn = schemaAt(schema, path)?.description === filledInText;
  if (node.kind === 'scalar') return isFilledIn && node.value !== null ? [path] : [];
  if (isFilledIn) return [path];
  return childNames(node).flatMap((name) => {
    const child = childOf(node, name);
    return child === undefined ? [] : filledInKeys(child, schema, [...path, name]);
  });
}
