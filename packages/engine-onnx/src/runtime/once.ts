/** Values that are computed once. */

/** Computed when it is first needed. */
export function once<T>(compute: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => (found ??= { value: compute() }).value;
}
