/** Calls `work` at the first call only, for close functions that must be safe to call twice. */
export function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
