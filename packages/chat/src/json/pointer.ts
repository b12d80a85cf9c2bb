/** Resolves references between the parts of a JSON Schema. */
import type { JsonObject } from './object.js';

/**
 * Resolves `#`, `#/path` and `#anchor`. Returns undefined for references of other kinds, and if
 * there is nothing at the path or anchor.
 */
export function lookUp(root: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let pointer;
  try {
    pointer = decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
  if (pointer !== '' && !pointer.startsWith('/')) return anchored(root, pointer);
  const names = pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce<unknown>(
    (at, name) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, name)
        ? (at as JsonObject)[name]
        : undefined,
    root,
  );
}

function anchored(root: JsonObject, name: string): unknown {
  const open: unknown[] = [root];
  for (const each of open) {
    if (typeof each !== 'object' || each === null) continue;
    if ((each as JsonObject)['$anchor'] === name) return each;
    for (const value of Object.values(each)) open.push(value);
  }
  return undefined;
}
