/** File operations for model folders. */
import { stat } from 'node:fs/promises';

import { CheckpointError, describeError } from '@trinity-rft/core';
import { readStored, verifyStored } from '@trinity-rft/core/engine';
import { replaceFile } from '@trinity-rft/core/support';

/**
 * Returns true if the path is a file.
 * @throws CheckpointError if the file is missing but is listed in a checkpoint's manifest
 */
export async function isFile(path: string): Promise<boolean> {
  const isThere = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isThere) await verifyStored(path);
  return isThere;
}

/**
 * Reads a file. Returns undefined if it does not exist.
 * @throws CheckpointError if it cannot be read, or does not match its digest in a checkpoint's
 * manifest
 */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readStored(path);
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause;
    throw new CheckpointError(`${path} cannot be read.`, { code: 'MODEL_FILE_UNREADABLE', cause });
  }
}

/**
 * Writes a file atomically: readers see either the old file or the new one.
 * @param bytes content in one or several parts
 */
export async function writeWhole(
  path: string,
  bytes: Uint8Array | readonly Uint8Array[],
): Promise<void> {
  try {
    await replaceFile(path, bytes);
  } catch (cause) {
    throw new CheckpointError(
      `${path} could not be written: ${describeError(cause)}. Check that the folder is writable and the disk has room.`,
      {
        code: 'MODEL_FILE_UNWRITABLE',
        cause,
      },
    );
  }
}

/**
 * Parses a file that holds a JSON object.
 * @throws CheckpointError naming the file if it holds anything else
 */
export function readObject(
  path: string,
  bytes: Buffer | undefined,
): Readonly<Record<string, unknown>> {
  try {
    const found = JSON.parse(String(bytes)) as unknown;
    if (typeof found === 'object' && found !== null && !Array.isArray(found))
      return found as Record<string, unknown>;
  } catch (cause) {
    throw notAnObject(path, cause);
  }
  throw notAnObject(path);
}

const notAnObject = (path: string, cause?: unknown): CheckpointError =>
  new CheckpointError(`${path} is not a JSON object; copy or save it again.`, {
    code: 'MODEL_FILE_UNREADABLE',
    cause,
  });
