/** Creates folders atomically: a folder is filled under a temporary name, the draft. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from './errors.js';
import { isProcessAlive } from './process-alive.js';

/**
 * Calls `fill` with a draft of `directory`. The draft is renamed to `directory` when `fill`
 * resolves, and removed when `fill` fails or the process exits. If `directory` exists, the draft is
 * inside it, because a mounted or linked folder cannot be replaced. Removes the drafts of killed
 * processes first.
 * @throws ConfigError when `directory` is a file or a folder that is not empty, at the start or at
 * the end
 */
export async function fillFolder<T>(
  directory: string,
  fill: (folder: string) => Promise<T>,
): Promise<T> {
  const place = path.resolve(directory);
  const exists = (await stat(place).catch(() => undefined))?.isDirectory() === true;
  const prefix = exists ? path.join(place, '.partial-') : `${place}.partial-`;
  await removeOrphans(prefix);
  await assertEmptyFolder(place);
  const draft = `${prefix}${process.pid}-${randomUUID()}`;
  const first = await mkdir(draft, { recursive: true });
  const removeAtExit = (): void => rmSync(draft, { recursive: true, force: true });
  process.once('exit', removeAtExit);
  try {
    const result = await fill(draft);
    if (exists)
      for (const name of await readdir(draft))
        await rename(path.join(draft, name), path.join(place, name));
    else {
      await assertEmptyFolder(place);
      await rename(draft, place);
    }
    return result;
  } finally {
    process.off('exit', removeAtExit);
    await rm(draft, { recursive: true, force: true });
    // Removes the new parent folders if nothing was written into them.
    for (let made = path.dirname(draft); first && made.length >= first.length;) {
      await rmdir(made).catch(() => undefined);
      made = path.dirname(made);
    }
  }
}

/** Removes the drafts of killed processes; `prefix` begins their paths. */
async function removeOrphans(prefix: string): Promise<void> {
  const [folder, start] = [path.dirname(prefix), path.basename(prefix)];
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(start))) {
    const pid = Number.parseInt(name.slice(start.length), 10);
    // Another process may remove the draft at the same time, or another user may own it.
    await removeOrphan(path.join(folder, name), pid).catch(() => undefined);
  }
}

async function removeOrphan(draft: string, pid: number): Promise<void> {
  // After a restart of a container, the process often has the id of the one that was killed.
  if (!(pid > 0) || (pid !== process.pid && isProcessAlive(pid))) return;
  // The draft may belong to this process or one in another container, which still writes to it.
  if (Date.now() - (await lastWrite(draft)) > orphanMs)
    await rm(draft, { recursive: true, force: true });
}

const orphanMs = 600_000;

/** Returns the time of the last change in a folder in Unix milliseconds. */
async function lastWrite(folder: string): Promise<number> {
  const names = ['', ...(await readdir(folder, { recursive: true }))];
  const files = await Promise.all(names.map((name) => stat(path.join(folder, name))));
  return Math.max(...files.map(({ mtimeMs }) => mtimeMs));
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
