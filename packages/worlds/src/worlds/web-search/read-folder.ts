import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import type { Page } from './corpus.js';

/**
 * Reads the `*.txt` and `*.md` files of a folder and its subfolders as pages.
 * @throws ConfigError if the folder cannot be read or has no such files
 */
export async function readFolder(folder: string): Promise<readonly Page[]> {
  const names = await listFolder(folder);
  const texts = names.filter((name) => /\.(?:txt|md)$/.test(name)).toSorted();
  if (texts.length === 0) throw unusable(folder, 'has no files named *.txt or *.md');
  return Promise.all(
    texts.map(async (name) => ({
      id: name,
      title: path.parse(name).name,
      text: await readFile(path.join(folder, name), 'utf8'),
    })),
  );
}

async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder, { recursive: true });
  } catch (cause) {
    throw unusable(folder, 'cannot be read', cause);
  }
}

const unusable = (folder: string, why: string, cause?: unknown): ConfigError =>
  new ConfigError(`environment_args.folder: ${folder} ${why}. Name a folder of texts.`, {
    code: 'WEB_SEARCH_FOLDER',
    cause,
  });
