/**
 * Calls `work` every `ms` milliseconds, but skips a call while the previous one is in progress.
 * Ignores errors of `work`.
 * @returns a function that ends the repetition, and resolves when no call is in progress
 */
export function repeat(work: () => Promise<unknown>, ms: number): () => Promise<void> {
  let working: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    working ??= work()
      .catch(() => undefined)
      .finally(() => (working = undefined));
  }, ms);
  return async () => {
    clearInterval(timer);
    await working;
  };
}
