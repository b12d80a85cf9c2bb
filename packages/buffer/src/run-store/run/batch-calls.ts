/** Batches calls: calls that arrive while another call is in progress are combined into one. */

interface Call<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that passes its item to `work`, together with the items of concurrent calls.
 * If `work` fails for several items, it is called again for each item separately, so that an error
 * affects only the call that caused it.
 * @param work handles either all items or none, and returns one result per item
 * @param most maximum number of items that are passed to `work` together
 */
export function batchCalls<T, R>(
  work: (items: readonly T[]) => Promise<readonly R[]>,
  most: number,
): (item: T) => Promise<R> {
  const queue: Call<T, R>[] = [];
  let isAtWork = false;
  const one = async ({ item, resolve, reject }: Call<T, R>): Promise<void> => {
    try {
      const [result] = await work([item]);
      resolve(result as R);
    } catch (error) {
      reject(error);
    }
  };
  const many = async (calls: readonly Call<T, R>[]): Promise<void> => {
    let results: readonly R[];
    try {
      results = await work(calls.map(({ item }) => item));
    } catch {
      for (const call of calls) await one(call);
      return;
    }
    for (const [i, { resolve }] of calls.entries()) resolve(results[i] as R);
  };
  const flush = async (): Promise<void> => {
    isAtWork = true;
    for (let calls = queue.splice(0, most); calls.length > 0; calls = queue.splice(0, most))
      await (calls.length === 1 && calls[0] ? one(calls[0]) : many(calls));
    isAtWork = false;
  };
  return (item) =>
    new Promise<R>((resolve, reject) => {
      queue.push({ item, resolve, reject });
      if (!isAtWork) void flush();
    });
}
