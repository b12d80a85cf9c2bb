/** Divides the threads of an engine among samplers. */
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';

export interface SamplerThreads {
  /**
   * Number of parallel samplers. Each sampler has its own thread, sequences and copy of the
   * weights.
   */
  readonly samplers: number;
  /** Number of threads per operator of a sampler. */
  readonly threads: number;
}

/**
 * Maximum size in bytes of weights that are copied for additional samplers. For larger models,
 * operators take long enough that dividing them among threads is faster than additional samplers.
 */
const maxCopiedBytes = 16 << 20;

/**
 * Plans one sampler per thread for a small model, and one sampler with all threads for a larger
 * model. Operators of a small model take a few microseconds. Waking a second thread for each
 * operator costs as much as it saves, whereas two samplers with one thread each do twice the work.
 * The plan depends only on the arguments, because the number of threads determines how sums are
 * rounded.
 * @param maxSamplers maximum number of samplers; if it is below the number of threads, each sampler
 * gets several threads
 */
export function planSamplerThreads(
  config: ModelConfig,
  threads: number,
  maxSamplers = Infinity,
): SamplerThreads {
  const isSmall = 4 * parameterCount(config) <= maxCopiedBytes;
  const samplers = isSmall ? Math.min(threads, maxSamplers) : 1;
  return { samplers, threads: Math.floor(threads / samplers) };
}
