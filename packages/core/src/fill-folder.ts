/** Creates folders atomically: a folder is filled under a temporary name, the draft. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { access, constants, mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from './errors.js';
import { atExit } from './process-alive.js';

/**
 * Calls `fill` with a draft of `directory`. The draft is renamed to `directory` when `fill`
 * resolves, and removed when `fill` fails or the process exits. If `directory` exists, the draft is
 * inside it, because a mounted or linked folder cannot be replaced. Drafts of killed processes
 * remain: a process in another container may still write to a draft that looks like one.
 * @throws ConfigError when `directory` is a file or a folder that holds more than drafts, at the
 * start or at the end, or when it cannot be created
 */
export async function fillFolder<T>(
  directory: string,
  fill: (folder: string) => Promise<T>,
): Promise<T> {
  const place = path.resolve(directory);
  const { exists, prefix } = await draftsAt(place);
  await assertEmptyFolder(place, prefix);
  const draft = `${prefix}${process.pid}-${randomUUID()}`;
  const first = await makeFolder(place, draft);
  const isOver = atExit(() => rmSync(draft, { recursive: true, force: true }));
  try {
    const result = await fill(draft);
    await assertEmptyFolder(place, prefix);
    if (exists)
      for (const name of await readdir(draft))
        await rename(path.join(draft, name), path.join(place, name));
    else await rename(draft, place);
    return result;
  } finally {
    isOver();
    await rm(draft, { recursive: true, force: true });
    // Removes the new parent folders if nothing was written into them.
    for (let made = path.dirname(draft); first && made.length >= first.length;) {
      await rmdir(made).catch(() => undefined);
      made = path.dirname(made);
    }
  }
}

async function draftsAt(place: string) {
  const exists = (await stat(place).catch(() => undefined))?.isDirectory() === true;
  return { exists, prefix: exists ? path.join(place, '.partial-') : `${place}.partial-` };
}

/** Returns the paths of the drafts of `directory`, which killed or running processes have made. */
export async function draftsOf(directory: string): Promise<readonly string[]> {
  const { prefix } = await draftsAt(path.resolve(directory));
  const folder = path.dirname(prefix);
  const names = await readdir(folder).catch(() => []);
  return names
    .map((name) => path.join(folder, name))
    .filter(
      (file) => file.startsWith(prefix) && /^\d+-[\da-f-]{36}$/.test(file.slice(prefix.length)),
    );
}

/**
 * Creates the folder of a command's output, unless it exists, and checks that it can be written.
 * @param directory folder that the user has named
 * @param folder folder to create in its place. @default `directory`
 * @returns path of the first folder that was created; undefined if there was none to create
 * @throws ConfigError when the folder cannot be created or written
 */
export async function makeFolder(
  directory: string,
  folder = directory,
): Promise<string | undefined> {
  try {
    const first = await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    return first;
  } catch (cause) {
    // The system's message ends with the path, which may be that of a draft.
    const why = describeError(cause).replace(/, \w+ '.*$/s, '');
    throw new ConfigError(
      `${directory} cannot be written: ${why}. Name a folder that this process may write.`,
      { code: 'FOLDER_NOT_WRITABLE', cause },
    );
  }
}

/** @param drafts beginning of the paths of drafts, which are ignored */
async function assertEmptyFolder(directory: string, drafts: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  const names = found?.isDirectory() ? await readdir(directory) : [];
  const file = names.find((name) => !path.join(directory, name).startsWith(drafts));
  if (found === undefined || (found.isDirectory() && file === undefined)) return;
  const what = file === undefined ? 'is a file' : `is not empty: it holds ${file}`;
  throw new ConfigError(`${directory} ${what}. Name a folder that does not exist.`, {
    code: 'FOLDER_IN_USE',
  });
}
