/**
 * Wraps `work`, so that only the first call executes it. Makes close functions safe to call twice.
 */
export function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
