/** Files that appear whole: written beside their place, and moved there when they are complete. */
import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';

type Content = Parameters<typeof writeFile>[1];

/** Survives a kill of the process at any moment. Several processes may replace the same file. */
export const replaceFile = (file: string, content: Content): Promise<void> =>
  fill(file, ownDraft(file), (draft) => writeFile(draft, content));

/** @param options.flush survives a loss of power too: for what cannot be written again */
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
 * Calls `write` with a path beside `file`; what it writes there becomes `file` when it resolves, and is
 * removed when it fails. The path is always the same, so that a killed process leaves one large draft at most.
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
