/** Files that a command writes where its user says. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';

/**
 * Writes the file, and the folders of its path.
 * @param option that named it, for messages
 * @throws ConfigError when it cannot be written
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
    throw new ConfigError(
      `${option} is "${file}", which cannot be written: ${describeError(cause)}. Name a file in a folder that this process may write.`,
      { code: 'ARGUMENT_INVALID', cause },
    );
  }
}
