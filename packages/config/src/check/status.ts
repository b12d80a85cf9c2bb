/**
 * Applies the statuses of the schema to one stage: a problem for every feature that is not supported, a
 * warning for every key that is ignored.
 */
import type { z } from 'zod';
import { defaultAt, schemaAt } from '../schema/introspect.js';
import { filledInText } from '../schema/fields.js';
import type { KeyStatus } from '../schema/status.js';
import { showValue } from '../source/secrets.js';
import { childOf, placeOf, type KeyPath, type Node } from '../source/node.js';
import type { LocatedProblem } from '../source/problem.js';

export interface StatusReport {
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/** `values` are the values of `tree` as the schema has parsed them. */
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
      const place = placeOf(tree, path);
      const shown = showValue(value, place.path);
      if (row.status === 'notSupported')
        problems.push({
          at: place.keyAt,
          key: place.path,
          message: `got ${shown}, which is not supported. ${row.note}`,
        });
      else
        warnings.push({
          at: place.keyAt,
          key: place.path,
          message: `ignored (${shown}). ${row.note}`,
        });
    }
  }
  for (const path of filledInKeys(tree, schema, [])) {
    const place = placeOf(tree, path);
    warnings.push({
      at: place.keyAt,
      key: place.path,
      message: 'ignored. The run fills it in itself.',
    });
  }
  return { problems, warnings };
}

function applies(row: KeyStatus, value: unknown, standard: unknown): boolean {
  if (row.values !== undefined) return row.values.some((candidate) => same(candidate, value));
  if (row.except !== undefined) return !row.except.some((candidate) => same(candidate, value));
  return !same(value, standard);
}

/** Paths of the tree that a pattern names. */
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

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function filledInKeys(node: Node, schema: z.ZodType, path: KeyPath): readonly KeyPath[] {
  if (node.kind === 'scalar')
    return schemaAt(schema, path)?.description === filledInText && node.value !== null
      ? [path]
      : [];
  if (schemaAt(schema, path)?.description === filledInText) return [path];
  return childNames(node).flatMap((name) => {
    const child = childOf(node, name);
    return child === undefined ? [] : filledInKeys(child, schema, [...path, name]);
  });
}
