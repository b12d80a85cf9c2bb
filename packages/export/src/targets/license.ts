import { readFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Reads the licence of a base model: the `license` field of its card, and the text of its licence
 * file.
 */
export async function licenseOf(
  folder: string | undefined,
): Promise<{ readonly id: string | undefined; readonly text: string | undefined }> {
  if (folder === undefined) return { id: undefined, text: undefined };
  const card = await textOf(path.join(folder, 'README.md'));
  const id = /^---[\s\S]*?^license:\s*["']?([\w.-]+)["']?\s*$[\s\S]*?^---/m.exec(card ?? '')?.[1];
  for (const name of ['LICENSE', 'LICENSE.txt', 'LICENSE.md']) {
    const text = await textOf(path.join(folder, name));
    if (text !== undefined) return { id, text };
  }
  return { id, text: undefined };
}

const textOf = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch(() => undefined);
