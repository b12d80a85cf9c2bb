/** Loads graphs that contain quantised weights. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EngineError } from '@trinity-rft/core';

import type { ModelRecord } from '../onnx/graph/record.js';
import { weightPlace } from '../onnx/external-files.js';
import type { GraphRuntime, LoadedGraph } from '../runtime/graph-runtime.js';
import type { QuantizedBase } from './base.js';
import type { QuantizedGraphOptions } from './graphs.js';

/** Maximum bytes of a file of weights. */
const mostInFile = 1.9e9;

/**
 * Loads a graph. The runtime reads the weights from temporary files, because it would hold weights
 * inside the graph in memory several times. The files are removed as soon as they have been read.
 * @throws EngineError when the folder of temporary files has no room for the weights
 */
export async function loadGraph(
  runtime: GraphRuntime,
  given: Omit<QuantizedGraphOptions, 'place'>,
  build: (options: QuantizedGraphOptions) => Promise<ModelRecord>,
): Promise<LoadedGraph> {
  const folder = await mkdtemp(join(tmpdir(), 'trinity-weights-'));
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

const noRoom = ({ bytes }: QuantizedBase, cause: unknown): EngineError =>
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
