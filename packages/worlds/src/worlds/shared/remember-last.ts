/**
 * Wraps `make` with a cache for the result of the latest call. Saves work because a solver and its
 * task request the same result many times.
 */
export function rememberLast<Args extends readonly (string | number)[], T>(
  make: (...args: Args) => T,
): (...args: Args) => T {
  let last: { readonly key: string; readonly made: T } | undefined;
  return (...args) => {
    const key = JSON.stringify(args);
    if (last?.key !== key) last = { key, made: make(...args) };
    return last.made;
  };
}
