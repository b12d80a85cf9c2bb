/** Small file operations of model folders. */
import { mkdir, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';
import { readStored, verifyStored } from '@trinity-rft/core/engine';

/** @throws CheckpointError if the manifest of a checkpoint names the file, and it is missing */
export async function isFile(path: string): Promise<boolean> {
  const isThere = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isThere) await verifyStored(path);
  return isThere;
}

/** @throws CheckpointError also if the file differs from its digest in a checkpoint */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readStored(path);
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause;
    throw new CheckpointError(`${path} cannot be read.`, { code: 'MODEL_FILE_UNREADABLE', cause });
  }
}

/** Atomic: readers see the old file or the new one. @param bytes at once or in parts */
export async function writeWhole(
  path: string,
  bytes: Uint8Array | readonly Uint8Array[],
): Promise<void> {
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

/** @throws CheckpointError when the folder holds files, or is a file */
export async function assertEmptyFolder(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  const [file] = found?.isDirectory() ? await readdir(directory) : [];
  if (found === undefined || (found.isDirectory() && file === undefined)) return;
  throw new CheckpointError(
    found.isDirectory()
      ? `${directory} is not empty (it holds ${file}). Name a folder that does not exist.`
      : `${directory} is a file. Name a folder that does not exist.`,
    { code: 'FOLDER_IN_USE' },
  );
}

/**
 * Calls `fill` with a folder beside `directory`, which becomes `directory` when `fill` resolves, and is
 * removed when it fails.
 * @throws CheckpointError when `directory` holds files
 */
export async function fillFolder(
  directory: string,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const place = resolve(directory);
  await assertEmptyFolder(place);
  const draft = `${place}.partial-${process.pid}`;
  try {
    await mkdir(draft, { recursive: true });
    await fill(draft);
    await rmdir(place).catch(() => undefined);
    await rename(draft, place);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
