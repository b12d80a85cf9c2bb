/** Recognises the small text files that `git clone` without git-lfs writes instead of large files. */
import { CheckpointError } from './errors.js';

const firstLine = 'version https://git-lfs';

/**
 * Checks that a file is not a git-lfs pointer.
 * @param start the first 32 characters of the file, or more
 * @throws CheckpointError when they are those of a pointer
 */
export function refuseLfsPointer(path: string, start: string): void {
  if (!start.startsWith(firstLine)) return;
  throw new CheckpointError(
    `${path} is a git-lfs pointer, not the file itself. Download the file, or, in a clone, install ` +
      'git-lfs and run `git lfs install` and `git lfs pull` in its folder.',
    { code: 'LFS_POINTER' },
  );
}
