/** Finds the files that an import reads. */
import type { Dirent } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';
import { realPathOf } from './write-rows.js';

export interface DataFile {
  readonly path: string;
  readonly bytes: number;
}

const dataFile = /\.(?:jsonl|ndjson|json|csv|ya?ml)(?:\.gz)?$/i;

/** Texts about a folder of data, which are left out without a word. */
const aboutData = /^(?:readme|licen[cs]e|notice|changelog)(?:\.(?:txt|rst))?$|\.md$/i;

/** Link that leads to nothing, or to a folder that cannot be listed. */
interface BrokenLink {
  readonly path: string;
  readonly cause: unknown;
}

/** Files of an import, sorted by name, and what was left out. */
interface Found {
  readonly files: readonly DataFile[];
  readonly brokenLinks: readonly BrokenLink[];
  /** Paths of data files that the import writes. */
  readonly outputs: readonly string[];
  /** Paths of files of other kinds. */
  readonly others: readonly string[];
}

/**
 * Finds the given file, or the data files in the given folder and its subfolders. Hidden files and
 * folders and `node_modules` are skipped.
 * @param written files that the import itself writes, by the names of their options
 * @throws ConfigError if there are no files, a file or folder that is no link cannot be read, or a
 * file is to be written twice or is one to import. An output in the folder is left out; only a
 * report must be one already.
 */
export async function findFiles(
  place: string,
  written: Readonly<Record<string, string>>,
): Promise<Found> {
  const own = new Map<string, string>();
  for (const [option, file] of Object.entries(written)) {
    const target = await realPathOf(file);
    const other = own.get(target);
    if (other) throw wrong(`${option} ${file} is also the file of ${other}. ${otherOutput}`);
    own.set(target, option);
  }
  const { bytes, entries } = await look(place).catch((cause: unknown) => {
    throw unreadable(place, cause, 'Name a file or a folder that can be read.');
  });
  const real = await realPathOf(place);
  if (entries === undefined) {
    const option = own.get(real);
    if (option) throw wrong(`${option} ${place} is the file to import. ${otherOutput}`);
    if (!dataFile.test(place)) throw wrong(`${place} ${otherKind}`);
    return { files: [{ path: place, bytes }], brokenLinks: [], outputs: [], others: [] };
  }
  const unread = new Set<string>();
  for (let at = real; !unread.has(at); at = path.dirname(at)) unread.add(at);
  const search: Search = { own, unread, files: [], brokenLinks: [], outputs: [], others: [] };
  await addFiles({ path: place, real, entries }, search);
  const { files, brokenLinks, outputs, others } = search;
  if (files.length === 0)
    throw wrong(
      [
        `${place} has no ${outputs.length > 0 ? 'other ' : ''}file that ends in .jsonl, .ndjson, .json, .csv or .yaml, or .gz after it.`,
        ...outputs.slice(0, 1).map((file) => `This import writes ${file}.`),
        ...brokenLinks
          .slice(0, 1)
          .map((link) => `${link.path} cannot be followed: ${describeError(link.cause)}.`),
        ...others.slice(0, 1).map((file) => `${file} ${otherKind}`),
      ].join(' '),
    );
  return {
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    brokenLinks,
    outputs,
    others,
  };
}

const otherOutput = 'Name another file to write.';

/** Returns the size of a file, or the entries of a folder. */
async function look(place: string) {
  const found = await stat(place);
  const entries = found.isDirectory() ? await readdir(place, { withFileTypes: true }) : undefined;
  return { isFile: found.isFile(), bytes: found.size, entries };
}

const reportStart = '{\n  "version": 1,';

/**
 * Returns true if the file is empty or begins like a report.
 * @throws ConfigError if it cannot be read
 */
async function isReport(file: string): Promise<boolean> {
  const handle = await open(file).catch((cause: unknown) => {
    throw unreadable(file, cause, 'Name another file for the report.');
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(reportStart.length));
    return reportStart.startsWith(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await handle.close();
  }
}

interface Folder {
  readonly path: string;
  /** Path without links. */
  readonly real: string;
  readonly entries: readonly Dirent[];
}

interface Search {
  /** Options that name the files that the import writes, by the real paths of these files. */
  readonly own: ReadonlyMap<string, string>;
  /**
   * Real paths that are left out: the imported folder and those that contain it, and files and
   * folders that were found before.
   */
  readonly unread: Set<string>;
  readonly files: DataFile[];
  readonly brokenLinks: BrokenLink[];
  readonly outputs: string[];
  readonly others: string[];
}

/** Adds the data files in a folder, and in the files and folders to which it links. */
async function addFiles(folder: Folder, search: Search): Promise<void> {
  const { own, unread, files, brokenLinks, outputs, others } = search;
  for (const entry of folder.entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    const isData = dataFile.test(name);
    const file = path.join(folder.path, name);
    const isHidden = name.startsWith('.') || name === 'node_modules';
    if (isHidden) continue;
    const isLink = entry.isSymbolicLink();
    const real = isLink ? await realPathOf(file) : path.join(folder.real, name);
    if (unread.has(real)) continue;
    const addOther = (): void => {
      if (!own.has(real) && !aboutData.test(name)) others.push(file);
    };
    if (entry.isFile() && !isData) {
      addOther();
      continue;
    }
    const found = await look(file).catch((cause: unknown) => {
      if (!isLink) throw unreadable(file, cause, 'Make it readable, restore it, or remove it.');
      brokenLinks.push({ path: file, cause });
    });
    if (found?.isFile && !isData) addOther();
    if (found === undefined || !(found.entries || (found.isFile && isData))) continue;
    const option = own.get(real);
    if (option !== undefined) {
      if (option === '--report' && found.isFile && !(await isReport(file)))
        throw wrong(`${option} ${file} is one of the files to import. ${otherOutput}`);
      outputs.push(file);
      continue;
    }
    unread.add(real);
    if (found.entries) await addFiles({ path: file, real, entries: found.entries }, search);
    else files.push({ path: file, bytes: found.bytes });
  }
}

const otherKind =
  'is a file of an unknown kind; JSON lines (.jsonl, .ndjson), JSON, CSV and YAML, also gzipped (.gz), are read. Unpack it, or convert it to JSON lines (Hugging Face: to_json).';

const unreadable = (place: string, cause: unknown, fix: string): ConfigError =>
  wrong(`${place} cannot be read: ${describeError(cause)}. ${fix}`);

const wrong = (message: string): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID' });
