import { stat } from 'node:fs/promises';

/** Coarsest resolution of modification times among common file systems, in ms. */
const coarsestMs = 2000;

/**
 * Returns a function that calls `work` and caches its result until one of the files is written,
 * created or deleted. Errors are not cached.
 */
export function whenChanged<T>(
  files: readonly string[],
  work: () => T | Promise<T>,
): () => Promise<T> {
  let known: { readonly marks: string; readonly result: T } | undefined;
  return async () => {
    const begun = Date.now();
    const found = await Promise.all(files.map(markOf));
    const marks = found.map(({ mark }) => mark).join();
    if (known?.marks === marks) return known.result;
    const result = await work();
    // If a file was written moments ago, another write may leave its modification time unchanged.
    const isSettled = found.every(({ writtenAt }) => writtenAt < begun - coarsestMs);
    known = isSettled ? { marks, result } : undefined;
    return result;
  };
}

const markOf = (file: string): Promise<{ readonly mark: string; readonly writtenAt: number }> =>
  stat(file).then(
    ({ ino, size, mtimeMs }) => ({ mark: `${ino} ${size} ${mtimeMs}`, writtenAt: mtimeMs }),
    () => ({ mark: '', writtenAt: 0 }),
  );
