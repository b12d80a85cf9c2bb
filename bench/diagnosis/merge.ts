/** Configurations as trees. */
export type Tree = { readonly [key: string]: unknown };

export function merge(base: Tree, over: Tree): Tree {
  const merged = Object.entries(over).map(([key, value]) => [
    key,
    isTree(base[key]) && isTree(value) ? merge(base[key], value) : value,
  ]);
  return { ...base, ...(Object.fromEntries(merged) as Tree) };
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
