/** Finds the files that an import reads. */
import { readdir, stat } from 'node:fs/promises';
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
  const own = new Set(outputs.map((file) => path.resolve(file)));
  const found = await stat(place).catch((cause: unknown) => {
    throw wrong(`${place} cannot be read: ${describeError(cause)}. Name a file or a folder.`);
  });
  if (!found.isDirectory()) {
    if (own.has(path.resolve(place)))
      throw wrong(`-o ${place} is the file to import. Name another file to write.`);
    if (!dataFile.test(place)) throw wrong(`${place} ${otherKind}`);
    return [{ path: place, bytes: found.size }];
  }
  const names = await readdir(place, { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => dataFile.test(file) && !own.has(path.resolve(file)) && !isHidden(place, file))
    .toSorted();
  if (files.length === 0)
    throw wrong(
      `${place} has no file that ends in .jsonl, .ndjson, .json, .csv or .yaml, or .gz after it.`,
    );
  return Promise.all(files.map(async (file) => ({ path: file, bytes: (await stat(file)).size })));
}

const isHidden = (place: string, file: string): boolean =>
  path
    .relative(place, file)
    .split(path.sep)
    .some((part) => part.startsWith('.') || part === 'node_modules');

const otherKind =
  'is a file of an unknown kind; JSON lines (.jsonl, .ndjson), JSON, CSV and YAML, also gzipped (.gz), are read.';

const wrong = (message: string): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID' });
