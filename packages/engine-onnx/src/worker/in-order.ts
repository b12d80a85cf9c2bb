/** Work that runs one piece at a time, in the order it was asked for. */

export interface InOrder {
  /** Runs `work` when everything before it has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when everything so far has ended. */
  idle(): Promise<void>;
}

export function inOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run: (work) => {
      const result = last.then(work);
      last = result.catch(() => undefined);
      return result;
    },
    idle: async () => void (await last),
  };
}
