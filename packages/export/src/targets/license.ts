import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseDocument } from 'yaml';

/**
 * Reads the licence of a base model from the `license` field of its model card and from its licence
 * file.
 */
export async function licenseOf(
  folder: string | undefined,
): Promise<{ readonly id: string | undefined; readonly text: string | undefined }> {
  if (folder === undefined) return { id: undefined, text: undefined };
  const id = licenseIn((await textOf(path.join(folder, 'README.md'))) ?? '');
  for (const name of ['LICENSE', 'LICENSE.txt', 'LICENSE.md']) {
    const text = await textOf(path.join(folder, name));
    if (text !== undefined) return { id, text };
  }
  return { id, text: undefined };
}

/**
 * Matches the front matter of a model card: the YAML between a first line `---` and the next line
 * `---`.
 */
const frontMatter = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?\r?\n)??---[ \t]*(?:\r?\n|$)/;

function licenseIn(card: string): string | undefined {
  const id: unknown = parseDocument(frontMatter.exec(card)?.[1] ?? '').get('license');
  return typeof id === 'string' && /^[\w.-]+$/.test(id) ? id : undefined;
}

const textOf = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch(() => undefined);
