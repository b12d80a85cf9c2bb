/** Writes files atomically: under a temporary name in the same folder, renamed when complete. */
import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';

type Content = Parameters<typeof writeFile>[1];

/**
 * Replaces a file. The process may be killed at any moment, and several processes may replace the
 * same file.
 */
export const replaceFile = (file: string, content: Content): Promise<void> =>
  fill(file, ownDraft(file), (draft) => writeFile(draft, content));

/**
 * @param options.flush true if the file must survive a power failure, because it cannot be written
 * again
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
 * Calls `write` with a temporary path next to `file`. The file written there is renamed to `file`
 * when `write` resolves, and removed when `write` fails. The path is always the same, so that
 * killed processes leave at most one large draft.
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
