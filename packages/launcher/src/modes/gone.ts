/** Work that a dead engine ends. */

/** Rejects with what killed the engine, also where the work only noticed that it was stopped. */
export async function orGone<T>(gone: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    gone.throwIfAborted();
    return result;
  } catch (error) {
    throw gone.aborted ? gone.reason : error;
  }
}
