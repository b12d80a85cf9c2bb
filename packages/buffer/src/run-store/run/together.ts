/** Batches calls: those that arrive while another one is running are combined into the next. */

interface Call<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface TogetherOptions<T, R> {
  /** Handles all items or none. Returns one result per item. */
  readonly work: (items: readonly T[]) => Promise<readonly R[]>;
  /** Maximum number of items that are handled together. */
  readonly most: number;
}

/** If items fail together, each is tried separately, so that an error only affects its own call. */
export function together<T, R>({ work, most }: TogetherOptions<T, R>): (item: T) => Promise<R> {
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
