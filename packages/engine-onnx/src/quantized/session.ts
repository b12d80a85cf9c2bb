/** Loads graphs that contain quantised weights. */
import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EngineError } from '@trinity-rft/core';
import { isProcessAlive } from '@trinity-rft/core/support';

import type { ModelRecord } from '../onnx/graph/record.js';
import { weightPlace } from '../onnx/external-files.js';
import type { GraphRuntime, LoadedGraph } from '../runtime/graph-runtime.js';
import type { QuantizedBase } from './base.js';
import type { QuantizedGraphOptions } from './graphs.js';

/** Prefix of the names of temporary folders, followed by the process id. */
const prefix = 'trinity-weights-';

/** Maximum size of a weight file in bytes. */
const mostInFile = 1.9e9;

/**
 * Loads a graph that contains weights. The runtime reads the weights from temporary files, because
 * it would keep weights inside the graph in memory several times. The files are removed as soon as
 * they have been read.
 * @throws EngineError when the folder of temporary files has no room for the weights
 */
export async function loadGraph(
  runtime: GraphRuntime,
  given: Omit<QuantizedGraphOptions, 'place'>,
  build: (options: QuantizedGraphOptions) => Promise<ModelRecord>,
): Promise<LoadedGraph> {
  await removeOrphans();
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  const file = 'graph.onnx';
  const places = weightPlace({ folder, file, most: mostInFile, signal: undefined });
  try {
    const record = await build({ ...given, place: places.put });
    await places.close();
    return await runtime.load(record, 'sample', folder);
  } catch (cause) {
    throw (cause as { readonly code?: unknown }).code === 'ENOSPC'
      ? noRoom(given.base, cause)
      : cause;
  } finally {
    await places.close();
    await remove(folder);
  }
}

/**
 * Removes the temporary folders of processes that were killed while they loaded a graph. These
 * folders are as large as the model, and occupy memory if the system keeps temporary files in
 * memory.
 */
async function removeOrphans(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix)))
    // Another process may remove the folder at the same time, or another user may own it.
    await removeOrphan(name).catch(() => undefined);
}

async function removeOrphan(name: string): Promise<void> {
  const pid = Number.parseInt(name.slice(prefix.length), 10);
  // After a restart of a container, the process often has the id of the one that was killed.
  if (!(pid > 0) || (pid !== process.pid && isProcessAlive(pid))) return;
  const folder = join(tmpdir(), name);
  // This process or one of another container may be loading a graph, but never for so long.
  const { mtimeMs } = await stat(folder);
  if (Date.now() - mtimeMs > orphanMs) await rm(folder, { recursive: true, force: true });
}

const orphanMs = 600_000;

const noRoom = ({ graphBytes: bytes }: QuantizedBase, cause: unknown): EngineError =>
  new EngineError(
    `${tmpdir()} has no room for the weights of the model, ${(bytes / 1e9).toFixed(1)} GB, which the runtime reads ` +
      'from there once. Free some, or name another folder in the environment variable TMPDIR (TEMP on Windows).',
    { code: 'ENGINE_NO_ROOM', cause },
  );

/**
 * Removes a folder. If that fails, as on Windows while files are in use, removes it when the thread
 * ends.
 */
async function remove(folder: string): Promise<void> {
  const options = { recursive: true, force: true } as const;
  await rm(folder, options).catch(() => process.once('exit', () => rmSync(folder, options)));
}
