/** Merges configurations and other plain data as trees. */

export type Tree = Readonly<Record<string, unknown>>;

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns a copy of `base` into which `over` is merged, key by key. Only objects are merged: lists
 * and other values of `over` replace those of `base`.
 */
export function mergeTrees(base: Tree, over: Tree): Tree {
  const merged = Object.entries(over).map(([key, value]) => {
    const old = base[key];
    return [key, isTree(old) && isTree(value) ? mergeTrees(old, value) : value];
  });
  return { ...base, ...(Object.fromEntries(merged) as Tree) };
}
