/** A JSON file that a kill leaves as it was, or as it shall be; and ids in the order of creation. */
import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';

export async function saveJson(file: string, value: unknown): Promise<void> {
  const draft = `${file}.tmp`;
  await writeFile(draft, `${JSON.stringify(value, undefined, 2)}\n`, { flush: true });
  await rename(draft, file);
}

let last = 0;

/** `PREFIX-` and 24 hexadecimal digits; later ids come later in the order of texts. */
export function newId(prefix: string): string {
  last = Math.max(last + 1, Date.now() * 1000);
  return `${prefix}-${last.toString(16).padStart(14, '0')}${randomBytes(5).toString('hex')}`;
}
