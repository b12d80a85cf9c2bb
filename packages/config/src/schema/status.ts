/**
 * Collects the statuses of keys from the schema. A key without a status is supported. By default, a
 * status applies if the file sets the key to a value other than its default. Keys that Trinity sets
 * itself (`filledIn()` in the schema) are ignored with a warning too.
 */
import { z } from 'zod';
import { effectsOf, type KeyStatusName, type StatusEffect } from './fields.js';
import { coreOf } from './introspect.js';
import type { RunSchema } from './root.js';

export interface KeyStatus {
  /** Path in a stage after merging it with the top level; `*` stands for any index or name. */
  readonly path: string;
  readonly status: KeyStatusName;
  /** Values that the status applies to. @default all values except the default */
  readonly values?: readonly unknown[];
  /**
   * Values that the status does not apply to. Intended for keys without a default in the schema.
   */
  readonly except?: readonly unknown[];
  /** Reason for the status, and advice. */
  readonly note: string;
}

const cache = new WeakMap<z.ZodType, readonly KeyStatus[]>();

/** Returns the statuses of all keys, in the order of the schema. */
export function statusesOf(schema: RunSchema): readonly KeyStatus[] {
  const statuses = cache.get(schema) ?? statusesBelow(schema, []);
  cache.set(schema, statuses);
  return statuses;
}

function statusesBelow(schema: z.ZodType, path: readonly string[]): readonly KeyStatus[] {
  const core = coreOf(schema);
  if (core instanceof z.ZodObject)
    return Object.entries(core.shape as Readonly<Record<string, z.ZodType>>).flatMap(
      ([key, child]) => statusesAt(child, [...path, key]),
    );
  if (core instanceof z.ZodArray) return statusesAt(core.element as z.ZodType, [...path, '*']);
  if (core instanceof z.ZodRecord) return statusesAt(core.valueType as z.ZodType, [...path, '*']);
  return [];
}

/**
 * Returns the statuses of a key and of the keys below it. If the whole section has a status, the
 * keys below have none.
 */
function statusesAt(schema: z.ZodType, path: readonly string[]): readonly KeyStatus[] {
  const effects = effectsOf(schema);
  const own = effects.filter((effect) => 'status' in effect);
  const isWhole = own.some(({ values, inside }) => values === undefined && inside === undefined);
  const isReplaced = effects.some((effect) => 'shorthand' in effect);
  return [
    ...own.filter(({ values }) => values?.length !== 0).map((effect) => statusAt(path, effect)),
    ...(isWhole || isReplaced ? [] : statusesBelow(schema, path)),
  ];
}

function statusAt(path: readonly string[], effect: StatusEffect): KeyStatus {
  const { status, note, values, except, inside } = effect;
  const full = inside === undefined ? path : [...path, inside];
  return { path: full.join('.'), status, note, values, except };
}
