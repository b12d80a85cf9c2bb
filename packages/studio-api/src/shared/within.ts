/** Waiting with an end. */

/** Resolves when the work is done, or after a time, while it goes on. */
export const within = (ms: number, work: Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
