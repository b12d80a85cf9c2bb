/** Merges configurations and other plain data as trees. */

export type Tree = Readonly<Record<string, unknown>>;

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Merges `over` into a copy of `base`, key by key. Lists and other values are replaced, not merged.
 */
export function mergeTrees(base: Tree, over: Tree): Tree {
  const merged = Object.entries(over).map(([key, value]) => {
    const old = base[key];
    return [key, isTree(old) && isTree(value) ? mergeTrees(old, value) : value];
  });
  return { ...base, ...(Object.fromEntries(merged) as Tree) };
}
