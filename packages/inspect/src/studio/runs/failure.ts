import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { failureFile, messagesIn } from '@trinity-rft/launcher/files';

/** Messages of the failure file in this folder, causes included; undefined if there is none. */
export async function failureOf(folder: string): Promise<string | undefined> {
  const text = await readFile(path.join(folder, failureFile), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : messagesIn(text);
}
