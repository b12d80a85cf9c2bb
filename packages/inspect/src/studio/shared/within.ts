/**
 * Resolves when the work is done, or after `ms`, in which case the work continues.
 * @returns true if the work is done
 */
export const within = (ms: number, work: Promise<void>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    work.finally(() => clearTimeout(timer)).then(() => resolve(true), reject);
  });
