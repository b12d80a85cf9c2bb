/**
 * Resolves when the work is done, or after `ms` milliseconds. The work continues after a timeout.
 * @returns true if the work was done in time
 */
export const within = (ms: number, work: Promise<void>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    work.finally(() => clearTimeout(timer)).then(() => resolve(true), reject);
  });
