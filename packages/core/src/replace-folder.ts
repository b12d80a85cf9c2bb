/**
 * Replaces and removes folders that other programs may read. A folder is renamed before its files
 * are deleted. Even if the process is killed, no incomplete folder has the original name.
 */
import { rename, rm } from 'node:fs/promises';

/** Removes a folder. If this process is killed, `<folder>.removed.tmp` is left. */
export async function removeFolder(folder: string): Promise<void> {
  await deleteFiles(await moveAway(folder));
}

/**
 * Renames the complete folder `draft` to `folder`, and removes the folder that had this name. If
 * this process is killed in between, `draft` is left with its name.
 */
export async function replaceFolder(draft: string, folder: string): Promise<void> {
  const old = await moveAway(folder);
  await rename(draft, folder);
  await deleteFiles(old);
}

/** Renames the folder, if it exists, and returns the new name. */
async function moveAway(folder: string): Promise<string> {
  const removed = `${folder}.removed.tmp`;
  await deleteFiles(removed);
  await rename(folder, removed).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
  return removed;
}

const deleteFiles = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });
