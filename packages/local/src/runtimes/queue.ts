/** Lends a fixed number of items to callers, in the order of their requests. */
import { CancelledError, throwIfAborted } from '@trinity-rft/core';

export interface Queue<T> {
  /** Waits for a free item and lends it to `work`. @throws CancelledError if `signal` aborts */
  use<R>(signal: AbortSignal | undefined, work: (item: T) => Promise<R>): Promise<R>;
}

export function createQueue<T>(items: readonly T[]): Queue<T> {
  const free = [...items];
  const waiting: ((item: T) => void)[] = [];
  const take = async (signal: AbortSignal | undefined): Promise<T> => {
    throwIfAborted(signal);
    const item = free.shift();
    if (item !== undefined) return item;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        waiting.splice(waiting.indexOf(give), 1);
        reject(
          new CancelledError('The call was cancelled while it waited for its turn.', {
            reason: 'aborted',
          }),
        );
      };
      const give = (given: T): void => {
        signal?.removeEventListener('abort', stop);
        resolve(given);
      };
      waiting.push(give);
      signal?.addEventListener('abort', stop, { once: true });
    });
  };
  return {
    use: async (signal, work) => {
      const item = await take(signal);
      try {
        return await work(item);
      } finally {
        const next = waiting.shift();
        if (next) next(item);
        else free.push(item);
      }
    },
  };
}
