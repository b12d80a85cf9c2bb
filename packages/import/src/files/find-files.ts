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
  const files = (await filesIn(place)).filter((file) => !own.has(path.resolve(file.path)));
  if (files.length === 0)
    throw wrong(
      `${place} has no file that ends in .jsonl, .ndjson, .json, .csv or .yaml, or .gz after it.`,
    );
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Returns the data files in a folder, and in the files and folders to which it links.
 * @param read real paths of the folders that were read before, which are left out
 */
async function filesIn(folder: string, read = new Set<string>()): Promise<readonly DataFile[]> {
  const real = await realpath(folder);
  if (read.has(real)) return [];
  read.add(real);
  const files: DataFile[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    if (name.startsWith('.') || name === 'node_modules') continue;
    const file = path.join(folder, name);
    const isData = dataFile.test(name);
    const found = await stat(file).catch((cause: unknown) => {
      if (isData)
        throw wrong(`${file} cannot be read: ${describeError(cause)}. Restore it, or remove it.`);
    });
    if (found?.isDirectory()) files.push(...(await filesIn(file, read)));
    else if (found?.isFile() && isData) files.push({ path: file, bytes: found.size });
  }
  return files;
}

const otherKind =
  'is a file of an unknown kind; JSON lines (.jsonl, .ndjson), JSON, CSV and YAML, also gzipped (.gz), are read.';

const wrong = (message: string): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID' });
