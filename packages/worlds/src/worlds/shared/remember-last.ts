/**
 * Caches the result for the latest arguments, because solvers and tasks ask for the same one many
 * times.
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
