/** How the threads of an engine share the work of sampling. */
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';

export interface SamplingThreads {
  /**
   * Samplers side by side, each in a thread of its own with its own sequences and a copy of the
   * weights.
   */
  readonly lanes: number;
  /** Threads inside one operator of a sampler. */
  readonly threads: number;
}

/**
 * Weights above this stay in one place; their operators are long enough for several threads each.
 * Bytes.
 */
const mostCopiedBytes = 16 << 20;

/**
 * The operators of a small model take a few microseconds: waking a second thread for each costs as
 * much as it saves, while two samplers with one thread each do twice the work. Depends on nothing
 * but its arguments, because threads decide how sums are rounded.
 */
export function samplingThreads(config: ModelConfig, threads: number): SamplingThreads {
  return 4 * parameterCount(config) <= mostCopiedBytes
    ? { lanes: threads, threads: 1 }
    : { lanes: 1, threads };
}
