/**
 * Returns a function that computes the value at its first call, and then returns the same value.
 */
export function once<T>(compute: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => (found ??= { value: compute() }).value;
}
