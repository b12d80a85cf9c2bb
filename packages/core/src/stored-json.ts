/** Parses JSON files of model folders, and recognises files that other programs have damaged. */
import { CheckpointError } from './errors.js';

const firstLine = 'version https://git-lfs';

/**
 * Checks that a file is not a git-lfs pointer, the small text file that `git clone` without git-lfs
 * writes instead of a large file.
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

/**
 * Parses a JSON file of a model. Refuses a byte order mark, as transformers and PEFT do.
 * @param code code of the error
 * @throws CheckpointError that names the file and the fix if the file is not JSON
 */
export function parseStoredJson(path: string, text: string, code: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    refuseLfsPointer(path, text);
    throw new CheckpointError(
      text.startsWith('\uFEFF')
        ? `${path} begins with a byte order mark, which JSON does not allow. Save it as UTF-8 without one.`
        : `${path} is not JSON. Copy the file again from the original model.`,
      { code, cause },
    );
  }
}
