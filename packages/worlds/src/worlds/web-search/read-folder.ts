import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import type { Page } from './corpus.js';

/**
 * Reads the `*.txt` and `*.md` files of a folder and its subfolders as pages.
 * @throws ConfigError if the folder or a file cannot be read, or there are no such files
 */
export async function readFolder(folder: string): Promise<readonly Page[]> {
  const names = await listFolder(folder);
  const texts = names.filter((name) => /\.(?:txt|md)$/.test(name)).toSorted();
  const pages: Page[] = [];
  // One after another, because a process may open only a limited number of files at once.
  for (const name of texts) pages.push(...(await readPage(folder, name)));
  if (pages.length === 0) throw unusable(folder, 'has no files named *.txt or *.md');
  return pages;
}

/** Returns the page of a file in a list, or an empty list if the name is that of a folder. */
async function readPage(folder: string, name: string): Promise<readonly Page[]> {
  try {
    const text = await readFile(path.join(folder, name), 'utf8');
    return [{ id: name, title: path.parse(name).name, text }];
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EISDIR') return [];
    throw unusable(folder, `has the file ${name}, which cannot be read`, cause);
  }
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
