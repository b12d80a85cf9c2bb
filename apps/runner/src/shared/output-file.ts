import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { invalid } from './arguments.js';

/**
 * Writes the file, and creates the folders of its path.
 * @param option the option that names the file, for messages
 * @throws ConfigError when the file cannot be written
 */
export async function writeOutput(
  option: string,
  file: string,
  contents: string | Uint8Array,
): Promise<void> {
  try {
    await mkdir(path.dirname(path.resolve(file)), { recursive: true });
    await writeFile(file, contents);
  } catch (cause) {
    throw invalid(
      `${option} is "${file}", which cannot be written: ${describeError(cause)}. Name a file in a folder that this process may write.`,
      cause,
    );
  }
}
