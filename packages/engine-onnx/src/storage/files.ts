/** Small file operations of model folders. */
import { readFile, rename, stat, writeFile } from 'node:fs/promises';

import { CheckpointError } from '@trinity-rft/core/internal';

export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

export async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CheckpointError(`${path} cannot be read.`, { code: 'MODEL_FILE_UNREADABLE', cause });
  }
}

/** Atomic: readers see the old file or the new one. */
export async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(`${path}.tmp`, bytes);
    await rename(`${path}.tmp`, path);
  } catch (cause) {
    throw new CheckpointError(`${path} could not be written.`, {
      code: 'MODEL_FILE_UNWRITABLE',
      cause,
    });
  }
}
