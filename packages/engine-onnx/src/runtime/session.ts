/** Sessions of ONNX Runtime with the options for training and sampling. */
import { EngineError } from '@trinity-rft/core';
import { InferenceSession } from 'onnxruntime-node';

import { throughGate } from './native-gate.js';

export interface SessionOptions {
  /** Threads inside one operator. */
  readonly threads: number;
  /** Training divides its long operators into smaller pieces. */
  readonly kind: 'train' | 'sample';
}

/**
 * Loads a graph from its bytes, or from a file beside which its constants lie. `enableMemPattern: false` costs no time and saves a third of the memory; denormals
 * are flushed because they are a hundred times slower and no result needs them. Waiting
 * threads do not spin: on cores that other programs use too, spinning makes sampling two to five
 * times slower.
 * @throws EngineError when the runtime rejects the graph
 */
export async function createSession(
  source: Uint8Array | string,
  options: SessionOptions,
): Promise<InferenceSession> {
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

function gated(session: InferenceSession): InferenceSession {
  const run = session.run.bind(session) as (...given: readonly unknown[]) => Promise<never>;
  return Object.assign(session, {
    run: (...given: readonly unknown[]) => throughGate(() => run(...given)),
  });
}
