/** Notes about a run: `notes.json` in its folder. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';
import { replaceFile, tryJson } from '@trinity-rft/core/support';
import { runNotes } from '../interface/runs.js';
import type { RunNotes } from '../interface/types.js';

const fileName = 'notes.json';

/** Reads the notes. Returns empty notes if there are none or the file is not valid. */
export async function readNotes(folder: string): Promise<RunNotes> {
  const text = await readFile(path.join(folder, fileName), 'utf8').catch(() => undefined);
  return runNotes.safeParse(tryJson(text)).data ?? { tags: [], note: '' };
}

/** @throws ConfigError when the file cannot be written */
export async function writeNotes(folder: string, notes: RunNotes): Promise<void> {
  const file = path.join(folder, fileName);
  try {
    await replaceFile(file, `${JSON.stringify(notes, null, 2)}\n`);
  } catch (cause) {
    throw new ConfigError(
      `The notes cannot be written to ${file}: ${describeError(cause)}. Check that the folder is writable and the disk has room.`,
      { code: 'NOTES_WRITE', cause },
    );
  }
}
