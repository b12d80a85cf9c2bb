/** Waiting with an end. */

/** Resolves when the work is done, or after a time, while it continues. @returns whether it is done */
export const within = (ms: number, work: Promise<void>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    work.finally(() => clearTimeout(timer)).then(() => resolve(true), reject);
  });
