/** Reads the rows of a data set for functions that run without the explorer. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readTaskRows } from '@trinity-rft/buffer';
import type { RawTask } from '@trinity-rft/core';
import type { DatasetConfig } from './dataset-config.js';

export function readDataset(
  { path, name, split }: DatasetConfig,
  cwd: string | undefined,
  signal: AbortSignal,
): Promise<readonly RawTask[]> {
  return readTaskRows({ name: 'rows', path: inFolder(path, cwd), split, signal, subsetName: name });
}

/**
 * Resolves the path of a data set. A path that does not exist is returned as the id of a data set
 * on the hub.
 */
function inFolder(path: string, cwd: string | undefined): string {
  const local = cwd === undefined ? path : resolve(cwd, path);
  return existsSync(local) ? local : path;
}
