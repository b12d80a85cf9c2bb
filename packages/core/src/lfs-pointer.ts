/** Recognises the small text files that `git clone` without git-lfs writes instead of large files. */
import { CheckpointError } from './errors.js';

const firstLine = 'version https://git-lfs';

/**
 * Checks that a file is not a git-lfs pointer.
 * @param start the first characters of the file; fewer than four are no pointer
 * @throws CheckpointError when they are those of a pointer
 */
export function refuseLfsPointer(path: string, start: string): void {
  if (start.length < 4 || !firstLine.startsWith(start.slice(0, firstLine.length))) return;
  throw new CheckpointError(
    `${path} is a git-lfs pointer, not the file itself. Install git-lfs, then run \`git lfs install\` ` +
      'and `git lfs pull` in its folder.',
    { code: 'LFS_POINTER' },
  );
}
