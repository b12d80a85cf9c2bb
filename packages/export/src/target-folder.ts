/** The folder of an export: filled beside its place, and moved there when it is complete. */
import { mkdir, readdir, rename, rm, rmdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';

/**
 * Calls `fill` with a folder beside `directory`, which becomes `directory` when `fill` resolves, and is
 * removed when it fails.
 * @param bytes room that the files need, at most
 * @throws ConfigError when `directory` holds files, or the disk has no room
 */
export async function fillFolder<T>(
  directory: string,
  bytes: number,
  fill: (folder: string) => Promise<T>,
): Promise<T> {
  const place = path.resolve(directory);
  await assertEmpty(place);
  await mkdir(path.dirname(place), { recursive: true });
  await assertRoom(path.dirname(place), bytes);
  const partial = `${place}.partial-${process.pid}`;
  try {
    await mkdir(partial);
    const result = await fill(partial);
    await rmdir(place).catch(() => undefined);
    await rename(partial, place);
    return result;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function assertEmpty(place: string): Promise<void> {
  const found = await stat(place).catch(() => undefined);
  if (found === undefined) return;
  const [file] = found.isDirectory() ? await readdir(place) : [path.basename(place)];
  if (file === undefined) return;
  throw new ConfigError(
    found.isDirectory()
      ? `-o ${place} is not empty: it holds ${file}. Name a folder that does not exist.`
      : `-o ${place} is a file. Name a folder that does not exist.`,
    { code: 'FOLDER_IN_USE' },
  );
}

async function assertRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const room = bavail * bsize;
  if (bytes <= room) return;
  throw new ConfigError(
    `The export needs up to ${megabytes(bytes)}, and the disk of ${folder} has ${megabytes(room)} left. Free some room, or name a folder on another disk.`,
    { code: 'DISK_FULL' },
  );
}

export const megabytes = (bytes: number): string =>
  bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
