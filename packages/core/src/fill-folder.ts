/**
 * Creates folders atomically: a folder is filled under a temporary name next to its final path, and
 * renamed once it is complete.
 */
import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from './errors.js';

/**
 * Calls `fill` with a temporary folder next to `directory`. The folder is renamed to `directory`
 * when `fill` resolves, and removed when `fill` fails.
 * @throws ConfigError when `directory` is a file or a folder that is not empty
 */
export async function fillFolder<T>(
  directory: string,
  fill: (folder: string) => Promise<T>,
): Promise<T> {
  const place = path.resolve(directory);
  await assertEmptyFolder(place);
  const draft = `${place}.partial-${process.pid}`;
  try {
    // A killed process leaves its draft, and in a container every process may have the same id.
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true });
    const result = await fill(draft);
    await rmdir(place).catch(() => undefined);
    await rename(draft, place);
    return result;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function assertEmptyFolder(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  const [file] = found?.isDirectory() ? await readdir(directory) : [];
  if (found === undefined || (found.isDirectory() && file === undefined)) return;
  const what = file === undefined ? 'is a file' : `is not empty: it holds ${file}`;
  throw new ConfigError(`${directory} ${what}. Name a folder that does not exist.`, {
    code: 'FOLDER_IN_USE',
  });
}
