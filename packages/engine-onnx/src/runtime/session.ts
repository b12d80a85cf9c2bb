import { join } from 'node:path';

import { EngineError } from '@trinity-rft/core';
import { replaceFile } from '@trinity-rft/core/support';
import { InferenceSession } from 'onnxruntime-node';

import type { ModelRecord } from '../onnx/graph/record.js';
import { encodeModel } from '../onnx/graph/schema.js';
import type { GraphKind } from './graph-runtime.js';
import { throughGate } from './native-gate.js';
import { turnOffTelemetry } from './telemetry.js';

export interface SessionOptions {
  /** Number of threads per operator. */
  readonly threads: number;
  readonly kind: GraphKind;
  /** Folder with the external bytes of constants. The graph is also written to this folder. */
  readonly folder?: string | undefined;
}

/**
 * Loads a graph into a session of ONNX Runtime. `enableMemPattern: false` takes no more time and
 * saves a third of the memory. Denormal numbers are flushed to 0, because they are a hundred times
 * slower and no result depends on them. Waiting threads do not spin, because spinning makes
 * sampling two to five times slower on cores that other programs use too.
 * @throws EngineError when the runtime rejects the graph
 */
export async function createSession(
  record: ModelRecord,
  options: SessionOptions,
): Promise<InferenceSession> {
  turnOffTelemetry();
  const source = await sourceOf(encodeModel(record), options.folder);
  const pieces = options.kind === 'train' ? { dynamic_block_base: '4' } : {};
  try {
    const create = (): Promise<InferenceSession> =>
      InferenceSession.create(source as string, {
        graphOptimizationLevel: 'all',
        intraOpNumThreads: options.threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        enableMemPattern: false,
        logSeverityLevel: 3,
        extra: {
          session: { set_denormal_as_zero: '1', intra_op: { allow_spinning: '0' }, ...pieces },
        },
      });
    return gated(await throughGate(create));
  } catch (cause) {
    throw new EngineError(
      'ONNX Runtime rejected a graph of the embedded engine; this is a bug, please report it with ' +
        'the model config.',
      { code: 'ENGINE_GRAPH', cause },
    );
  }
}

/** Returns the bytes of the graph, or the path of a file with these bytes. */
async function sourceOf(
  parts: readonly Uint8Array[],
  folder: string | undefined,
): Promise<Uint8Array | string> {
  if (folder === undefined) return Buffer.concat(parts);
  const path = join(folder, 'graph.onnx');
  await replaceFile(path, parts);
  return path;
}

function gated(session: InferenceSession): InferenceSession {
  const run = session.run.bind(session) as (...given: readonly unknown[]) => Promise<never>;
  return Object.assign(session, {
    run: (...given: readonly unknown[]) => throughGate(() => run(...given)),
  });
}
