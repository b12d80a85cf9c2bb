/** Compares settings with those that a training run was last started with. */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Settings } from '../../assembly/settings.js';

/**
 * Settings, and the folder of their training run. Paths are compared relative to this folder, so
 * that moving a project does not count as a change.
 */
export interface PlacedSettings {
  readonly jobDirectory: string;
  readonly settings: Settings;
}

export interface Change {
  readonly key: string;
  /** Value before the change; undefined if the setting was not set. */
  readonly before: unknown;
  readonly now: unknown;
}

export function changesBetween(before: PlacedSettings, now: PlacedSettings): readonly Change[] {
  const keys = new Set([...Object.keys(before.settings), ...Object.keys(now.settings)]);
  const changes = [...keys]
    .map((key) => ({ key, before: before.settings[key], now: now.settings[key] }))
    .filter(
      (change) =>
        !isDeepStrictEqual(change.before, change.now) &&
        !isDeepStrictEqual(
          fromFolder(before.jobDirectory, change.before),
          fromFolder(now.jobDirectory, change.now),
        ),
    );
  return withoutInherited(itemsAsOne(changes, { before, now }));
}

function fromFolder(folder: string, value: unknown): unknown {
  return typeof value === 'string' && path.isAbsolute(value) ? path.relative(folder, value) : value;
}

/**
 * Merges the changes of all keys of a list item into one change if the whole item was added or
 * removed.
 */
function itemsAsOne(
  changes: readonly Change[],
  { before, now }: { readonly before: PlacedSettings; readonly now: PlacedSettings },
): readonly Change[] {
  const itemIn = ({ settings }: PlacedSettings, item: string): unknown =>
    settings[`${item}.name`] ??
    (Object.keys(settings).some((key) => key.startsWith(`${item}.`)) ? 'an item' : undefined);
  const merged = changes.map((change) => {
    const item = /^.*?\[\d+\](?=\.)/.exec(change.key)?.[0];
    if (item === undefined) return change;
    const [itemBefore, itemNow] = [itemIn(before, item), itemIn(now, item)];
    if (itemBefore !== undefined && itemNow !== undefined) return change;
    return { key: item, before: itemBefore, now: itemNow };
  });
  return [...new Map(merged.map((change) => [change.key, change])).values()];
}

/**
 * Removes changes of keys whose value is inherited from a key in a higher section that has the same
 * change.
 */
function withoutInherited(changes: readonly Change[]): readonly Change[] {
  const parts = (key: string): readonly string[] =>
    key.replace(/\.max_tokens$/, '.max_response_tokens').split('.');
  return changes.filter(
    (change) =>
      !changes.some(
        (other) =>
          parts(other.key).length < parts(change.key).length &&
          parts(other.key).at(-1) === parts(change.key).at(-1) &&
          isDeepStrictEqual([other.before, other.now], [change.before, change.now]),
      ),
  );
}
