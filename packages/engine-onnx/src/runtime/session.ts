/** Sessions of ONNX Runtime with the options that training and sampling want. */
import { EngineError } from '@trinity-rft/core';
import { InferenceSession } from 'onnxruntime-node';

export interface SessionOptions {
  /** Threads inside one operator. */
  readonly threads: number;
  /** Training leaves the cores to others between operators; sampling spins, because its operators are microseconds long. */
  readonly kind: 'train' | 'sample';
}

/**
 * Loads a graph. `enableMemPattern: false` costs no time and saves a third of the memory; denormals are flushed because they are
 * a hundred times slower and no result needs them.
 * @throws EngineError when the runtime refuses the graph
 */
export async function createSession(bytes: Uint8Array, options: SessionOptions): Promise<InferenceSession> {
  const polite = options.kind === 'train' ? { intra_op: { allow_spinning: '0' }, dynamic_block_base: '4' } : {};
  try {
    return await InferenceSession.create(bytes, {
      graphOptimizationLevel: 'all',
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      enableMemPattern: false,
      logSeverityLevel: 3,
      extra: { session: { set_denormal_as_zero: '1', ...polite } },
    });
  } catch (cause) {
    throw new EngineError('The runtime refused a graph of the embedded engine; this is a bug, please report it with the model config.', {
      code: 'ENGINE_GRAPH',
      cause,
    });
  }
}
