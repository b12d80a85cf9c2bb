/**
 * Reads and writes `configuration.json`, which records the path of the configuration file with
 * which a training run was last started.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { tryJson } from '@trinity-rft/core/support';

const fileName = 'configuration.json';

export async function writeSource(jobDirectory: string, file: string): Promise<void> {
  await writeFile(path.join(jobDirectory, fileName), `${JSON.stringify({ file })}\n`);
}

/**
 * Returns the absolute path of the configuration file. Returns undefined if a program started the
 * training run without a file, or if nothing was recorded.
 */
export async function readSource(jobDirectory: string): Promise<string | undefined> {
  const text = await readFile(path.join(jobDirectory, fileName), 'utf8').catch(() => undefined);
  const file = (tryJson(text) as { readonly file?: unknown } | null | undefined)?.file;
  return typeof file === 'string' && path.isAbsolute(file) ? file : undefined;
}
