/** Finds the files that an import reads. */
import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';

export interface DataFile {
  readonly path: string;
  readonly bytes: number;
}

const dataFile = /\.(?:jsonl|ndjson|json|csv|ya?ml)(?:\.gz)?$/i;

/** Link that leads to nothing, or to a folder that cannot be listed. */
interface BrokenLink {
  readonly path: string;
  readonly cause: unknown;
}

/** Files of an import, sorted by name, and links that cannot be followed. */
interface Found {
  readonly files: readonly DataFile[];
  readonly brokenLinks: readonly BrokenLink[];
}

/**
 * Finds the given file, or the data files in the given folder and its subfolders. Hidden files and
 * folders and `node_modules` are skipped.
 * @param outputs files that the import itself writes, which are skipped
 * @throws ConfigError if there are no files, or a file or folder that is no link cannot be read
 */
export async function findFiles(place: string, outputs: readonly string[]): Promise<Found> {
  const own = outputs.map((file) => path.resolve(file));
  const unread = new Set([...own, ...(await Promise.all(own.map(realPathOf)))]);
  const { bytes, entries } = await look(place).catch((cause: unknown) => {
    throw unreadable(place, cause, 'Name a file or a folder that can be read.');
  });
  const real = await realPathOf(place);
  if (entries === undefined) {
    if (unread.has(real))
      throw wrong(`-o ${place} is the file to import. Name another file to write.`);
    if (!dataFile.test(place)) throw wrong(`${place} ${otherKind}`);
    return { files: [{ path: place, bytes }], brokenLinks: [] };
  }
  for (let at = real; !unread.has(at); at = path.dirname(at)) unread.add(at);
  const search: Search = { unread, files: [], brokenLinks: [] };
  await addFiles({ path: place, real, entries }, search);
  const { files, brokenLinks } = search;
  if (files.length === 0)
    throw wrong(
      [
        `${place} has no file that ends in .jsonl, .ndjson, .json, .csv or .yaml, or .gz after it.`,
        ...brokenLinks
          .slice(0, 1)
          .map((link) => `${link.path} cannot be followed: ${describeError(link.cause)}.`),
      ].join(' '),
    );
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), brokenLinks };
}

/** Returns the absolute path without links, or with them if there is no file. */
const realPathOf = (file: string): Promise<string> =>
  realpath(file).catch(() => path.resolve(file));

/** Returns the size of a file, or the entries of a folder. */
async function look(place: string) {
  const found = await stat(place);
  const entries = found.isDirectory() ? await readdir(place, { withFileTypes: true }) : undefined;
  return { isFile: found.isFile(), bytes: found.size, entries };
}

interface Folder {
  readonly path: string;
  /** Path without links. */
  readonly real: string;
  readonly entries: readonly Dirent[];
}

interface Search {
  /**
   * Paths that are left out: outputs, the imported folder and those that contain it, and the real
   * paths of files and folders that were found before.
   */
  readonly unread: Set<string>;
  readonly files: DataFile[];
  readonly brokenLinks: BrokenLink[];
}

/** Adds the data files in a folder, and in the files and folders to which it links. */
async function addFiles(folder: Folder, search: Search): Promise<void> {
  const { unread, files, brokenLinks } = search;
  for (const entry of folder.entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    const isData = dataFile.test(name);
    const file = path.join(folder.path, name);
    const isHidden = name.startsWith('.') || name === 'node_modules';
    // A folder may contain any number of files of other kinds, such as images.
    if (isHidden || (entry.isFile() && !isData) || unread.has(path.resolve(file))) continue;
    const isLink = entry.isSymbolicLink();
    const real = isLink ? await realPathOf(file) : path.join(folder.real, name);
    if (unread.has(real)) continue;
    const found = await look(file).catch((cause: unknown) => {
      if (!isLink) throw unreadable(file, cause, 'Make it readable, restore it, or remove it.');
      brokenLinks.push({ path: file, cause });
    });
    if (found === undefined || !(found.entries || (found.isFile && isData))) continue;
    unread.add(real);
    if (found.entries) await addFiles({ path: file, real, entries: found.entries }, search);
    else files.push({ path: file, bytes: found.bytes });
  }
}

const otherKind =
  'is a file of an unknown kind; JSON lines (.jsonl, .ndjson), JSON, CSV and YAML, also gzipped (.gz), are read.';

const unreadable = (place: string, cause: unknown, fix: string): ConfigError =>
  wrong(`${place} cannot be read: ${describeError(cause)}. ${fix}`);

const wrong = (message: string): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID' });
