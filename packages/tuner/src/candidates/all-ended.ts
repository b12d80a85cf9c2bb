/**
 * Returns the results in order. If a promise rejects, rejects with the first reason in order, when
 * all promises have settled, so that no work continues in the background.
 */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
