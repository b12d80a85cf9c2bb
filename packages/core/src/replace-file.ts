/**
 * Writes files atomically. Each file has a temporary name in the same folder until it is complete.
 */
import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';

type Content = Parameters<typeof writeFile>[1];

/**
 * Replaces a file. At any moment, the file has either the complete old or the complete new content,
 * even if this process is killed or several processes replace the same file.
 */
export const replaceFile = (file: string, content: Content): Promise<void> =>
  fill(file, ownDraft(file), (draft) => writeFile(draft, content));

/**
 * Replaces a file as {@link replaceFile} does, synchronously.
 * @param options.flush true to flush the file to disk, so that it survives a power failure
 */
export function replaceFileSync(file: string, text: string, options: { flush?: true } = {}): void {
  const draft = ownDraft(file);
  try {
    writeFileSync(draft, text, options);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Calls `write` with a temporary path next to `file`. The file at that path is renamed to `file`
 * when `write` resolves, and removed when `write` fails. The temporary path is always the same, so
 * that killed processes leave at most one incomplete file.
 */
export const fillFile = <T>(file: string, write: (draft: string) => Promise<T>): Promise<T> =>
  fill(file, `${file}.tmp`, write);

const ownDraft = (file: string): string => `${file}.${randomUUID()}.tmp`;

async function fill<T>(
  file: string,
  draft: string,
  write: (draft: string) => Promise<T>,
): Promise<T> {
  try {
    const result = await write(draft);
    await rename(draft, file);
    return result;
  } finally {
    await rm(draft, { force: true });
  }
}
