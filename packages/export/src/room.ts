/** Checks the free disk space for an export. */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';

/**
 * Checks the free space on the folder's disk.
 * @throws ConfigError if less than `bytes` are free
 */
export async function assertRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const room = bavail * bsize;
  if (bytes <= room) return;
  throw new ConfigError(
    `The export needs up to ${megabytes(bytes)}, and the disk of ${path.dirname(folder)} has ${megabytes(room)} left. Free some room, or name a folder on another disk.`,
    { code: 'DISK_FULL' },
  );
}

export const megabytes = (bytes: number): string =>
  bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
