/** Interface of the programs that run a model in this process. */
import type { Sampler } from '@trinity-rft/core/engine';

export interface Runtime {
  readonly sampler: Sampler;
  /** `Sampler.sample` enforces grammars. */
  readonly enforcesFormats: boolean;
  close(): Promise<void>;
}
