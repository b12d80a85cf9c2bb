/** Does it the first time and nothing after that: what closes must be safe to call twice. */
export function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
