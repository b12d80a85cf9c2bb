/** Interface of the runtimes that run a model in this process. */
import type { Sampler } from '@trinity-rft/core/engine';

export interface Runtime {
  readonly sampler: Sampler;
  /** True if `Sampler.sample` enforces grammars. */
  readonly enforcesFormats: boolean;
  close(): Promise<void>;
}
