/**
 * Reads JSON files, replaces them atomically, and creates ids that sort in the order of creation.
 */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { ConfigError, describeError } from '@trinity-rft/core';
import { fillFile } from '@trinity-rft/core/support';

export const saveJson = (file: string, value: unknown): Promise<void> =>
  fillFile(file, (draft) =>
    writeFile(draft, `${JSON.stringify(value, undefined, 2)}\n`, { flush: true }),
  );

/**
 * Reads a record written by {@link saveJson}. Returns undefined if there is no such file.
 * @throws ConfigError naming a file without a valid record
 */
export async function readJson<T extends { readonly id: string }>(
  file: string,
): Promise<T | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof (value as Partial<T> | null)?.id === 'string') return value as T;
    throw new Error('it has no id');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw new ConfigError(
      `${file} cannot be read: ${describeError(cause)}. Restore it from a backup, or remove it: the job or file is then gone, its run stays.`,
      { code: 'RECORD_INVALID', cause },
    );
  }
}

let last = 0;

/**
 * Creates an id: the prefix, `-` and 24 hexadecimal digits. Ids sorted as strings are in the order
 * of their creation.
 */
export function newId(prefix: string): string {
  last = Math.max(last + 1, Date.now() * 1000);
  return `${prefix}-${last.toString(16).padStart(14, '0')}${randomBytes(5).toString('hex')}`;
}
