/**
 * Interface of the programs that run a model in this process: the embedded engine and llama.cpp.
 */
import type { Sampler } from '@trinity-rft/core/engine';

export interface Runtime {
  readonly sampler: Sampler;
  /** True if the sampler restricts sampling to a grammar when a request has one. */
  readonly enforcesFormats: boolean;
  close(): Promise<void>;
}
