/** Sessions of graphs with quantised weights inside. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { InferenceSession } from 'onnxruntime-node';

import type { Feeds } from '../model/weights.js';
import { weightPlace } from '../onnx/external-files.js';
import { createSession } from '../runtime/session.js';
import { writeWhole } from '../storage/files.js';
import type { QuantizedGraphOptions } from './graphs.js';

/** A file of weights holds as much. */
const mostInFile = 1.9e9;

/**
 * The runtime reads weights from files beside the graph, without which it would hold them several times. They
 * are removed as soon as they are read.
 */
export async function loadGraph(
  { base, threads }: Omit<QuantizedGraphOptions, 'place'>,
  build: (options: QuantizedGraphOptions) => Promise<readonly Uint8Array[]>,
): Promise<InferenceSession> {
  const folder = await mkdtemp(join(tmpdir(), 'trinity-weights-'));
  const file = 'graph.onnx';
  const places = weightPlace({ folder, file, most: mostInFile, signal: undefined });
  try {
    const parts = await build({ base, threads, place: places.put });
    await places.close();
    await writeWhole(join(folder, file), parts);
    return await createSession(join(folder, file), { threads, kind: 'sample' });
  } finally {
    await places.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The inputs that a session has. */
export const feedsOf = ({ inputNames }: InferenceSession, feeds: Feeds): Feeds =>
  Object.fromEntries(
    inputNames.flatMap((name) => {
      const value = feeds[name];
      return value ? [[name, value]] : [];
    }),
  );
