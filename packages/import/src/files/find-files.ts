/** Finds the files that an import reads. */
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';

export interface DataFile {
  readonly path: string;
  readonly bytes: number;
}

const dataFile = /\.(?:jsonl|ndjson|json|csv|ya?ml)(?:\.gz)?$/i;

/**
 * Returns the given file, or the data files in the given folder and its subfolders, sorted by name.
 * Hidden files and folders and `node_modules` are skipped.
 * @param outputs files that the import itself writes, which are skipped
 * @throws ConfigError if there are no files
 */
export async function findFiles(
  place: string,
  outputs: readonly string[],
): Promise<readonly DataFile[]> {
  const own = outputs.map((file) => path.resolve(file));
  const unread = new Set([...own, ...(await Promise.all(own.map(realPathOf)))]);
  const found = await stat(place).catch((cause: unknown) => {
    throw unreadable(place, cause, 'Name a file or a folder.');
  });
  const real = await realPathOf(place);
  if (!found.isDirectory()) {
    if (unread.has(real))
      throw wrong(`-o ${place} is the file to import. Name another file to write.`);
    if (!dataFile.test(place)) throw wrong(`${place} ${otherKind}`);
    return [{ path: place, bytes: found.size }];
  }
  for (let at = real; !unread.has(at); at = path.dirname(at)) unread.add(at);
  const files = await filesIn(place, unread);
  if (files.length === 0)
    throw wrong(
      `${place} has no file that ends in .jsonl, .ndjson, .json, .csv or .yaml, or .gz after it.`,
    );
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Returns the absolute path without links, or with them if there is no file. */
const realPathOf = (file: string): Promise<string> =>
  realpath(file).catch(() => path.resolve(file));

/**
 * Returns the data files in a folder, and in the files and folders to which it links.
 * @param unread paths that are left out: outputs, the imported folder and those that contain it, and
 * the real paths of files and folders that were found before, which are added
 * @throws ConfigError if a folder or a data file cannot be read
 */
async function filesIn(folder: string, unread: Set<string>): Promise<readonly DataFile[]> {
  const files: DataFile[] = [];
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw unreadable(folder, cause, 'Make it readable, or remove it.');
  });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    const isData = dataFile.test(name);
    const file = path.join(folder, name);
    const isHidden = name.startsWith('.') || name === 'node_modules';
    // A folder may contain any number of files of other kinds, such as images.
    if (isHidden || (entry.isFile() && !isData) || unread.has(path.resolve(file))) continue;
    const found = await stat(file).catch((cause: unknown) => {
      if (isData) throw unreadable(file, cause, 'Restore it, or remove it.');
    });
    const real = await realPathOf(file);
    if (unread.has(real) || !(found?.isDirectory() || (found?.isFile() && isData))) continue;
    unread.add(real);
    if (found.isFile()) files.push({ path: file, bytes: found.size });
    else files.push(...(await filesIn(file, unread)));
  }
  return files;
}

const otherKind =
  'is a file of an unknown kind; JSON lines (.jsonl, .ndjson), JSON, CSV and YAML, also gzipped (.gz), are read.';

const unreadable = (place: string, cause: unknown, fix: string): ConfigError =>
  wrong(`${place} cannot be read: ${describeError(cause)}. ${fix}`);

const wrong = (message: string): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID' });
