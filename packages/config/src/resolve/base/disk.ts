/** The disk, which a configuration is checked against. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readGgufConfig } from '@trinity-rft/gguf';

/** Read-only access to files and folders. */
export interface Disk {
  readonly resolve: (path: string) => string;
  readonly kind: (path: string) => 'file' | 'folder' | undefined;
  /** Undefined when it cannot be read as UTF-8 text. */
  readonly readText: (path: string) => string | undefined;
  /**
   * `config.json` of the model in a GGUF file.
   * @throws CheckpointError when it is not GGUF, or of a model that is not supported
   */
  readonly ggufConfig: (path: string) => string;
  readonly isEmptyFolder: (path: string) => boolean;
}

/** The real disk; relative paths start at `cwd`. */
export function diskAt(cwd: string): Disk {
  return {
    resolve: (path) => resolve(cwd, path),
    kind: (path) => {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats === undefined ? undefined : stats.isDirectory() ? 'folder' : 'file';
    },
    readText: (path) => {
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
      } catch {
        return undefined;
      }
    },
    ggufConfig: readGgufConfig,
    isEmptyFolder: (path) => !existsSync(path) || readdirSync(path).length === 0,
  };
}
