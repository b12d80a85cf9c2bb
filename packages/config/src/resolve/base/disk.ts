/** Access to the disk for checks of a configuration. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { isQuantizedGguf, openGguf, readGgufConfig, type GgufTensor } from '@trinity-rft/chat/gguf';

/** Read-only access to files and folders. */
export interface Disk {
  readonly resolve: (path: string) => string;
  readonly kind: (path: string) => 'file' | 'folder' | undefined;
  /** Reads the text of a file. Returns undefined if the file cannot be read as UTF-8. */
  readonly readText: (path: string) => string | undefined;
  /**
   * Returns the `config.json` of the model in a GGUF file.
   * @throws CheckpointError if the file is not a GGUF file, or if its model is not supported
   */
  readonly ggufConfig: (path: string) => string;
  /** Returns the tensors of a GGUF file, or an empty list if the file cannot be read. */
  readonly ggufTensors: (path: string) => readonly GgufTensor[];
  /**
   * Returns true for a GGUF file with quantised weights. Returns false for other files, and for a
   * file that cannot be read.
   */
  readonly isQuantizedGguf: (path: string) => boolean;
  readonly isEmptyFolder: (path: string) => boolean;
  /** Returns the names in a folder, or an empty list if the folder cannot be read. */
  readonly names: (path: string) => readonly string[];
}

export const tooManyFiles =
  'too many files are open in this process. Raise the limit with "ulimit -n 4096" and start again.';

/**
 * Returns the result of `look`, or undefined if `look` throws, for example because the path does
 * not exist.
 * @throws ConfigError when the process has no free file handles
 */
function found<T>(path: string, look: () => T): T | undefined {
  try {
    return look();
  } catch (cause) {
    const { code } = cause as { readonly code?: unknown };
    if (code === 'EMFILE' || code === 'ENFILE')
      throw new ConfigError(`${path}: ${tooManyFiles}`, { code: 'TOO_MANY_FILES', cause });
    return undefined;
  }
}

function tensorsOf(path: string): readonly GgufTensor[] {
  const file = openGguf(path);
  file.close();
  return [...file.tensors.values()];
}

/** Returns access to the real disk. Relative paths start at `cwd`. */
export function diskAt(cwd: string): Disk {
  return {
    resolve: (path) => resolve(cwd, path),
    kind: (path) => {
      const stats = found(path, () => statSync(path, { throwIfNoEntry: false }));
      return stats === undefined ? undefined : stats.isDirectory() ? 'folder' : 'file';
    },
    readText: (path) =>
      found(path, () => new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))),
    ggufConfig: readGgufConfig,
    ggufTensors: (path) => found(path, () => tensorsOf(path)) ?? [],
    isQuantizedGguf: (path) => found(path, () => isQuantizedGguf(path)) ?? false,
    isEmptyFolder: (path) =>
      !existsSync(path) || found(path, () => readdirSync(path))?.length === 0,
    names: (path) => found(path, () => readdirSync(path)) ?? [],
  };
}
