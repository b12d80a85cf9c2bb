/** Weights on the server to sample from, kept while requests use them. */
import { describeError, type Logger } from '@trinity-rft/core';

export interface SamplingHandle {
  readonly sessionId: string;
  /** Returns the index for the session's next request, and increments the counter. */
  nextSequence(): number;
  /** Calls `work`, and keeps the weights until `work` ends. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /** Frees the weights as soon as no request uses them. */
  retire(): void;
}

export function holdSampling(
  sessionId: string,
  { release, logger }: { readonly release?: () => Promise<void>; readonly logger: Logger },
): SamplingHandle {
  let users = 0;
  let sequence = 0;
  let retired = false;
  let freed = false;
  const freeIfUnused = (): void => {
    if (!retired || users > 0 || freed) return;
    freed = true;
    release?.().catch((error: unknown) =>
      logger.warn(`Weights that are no longer sampled stay on the server: ${describeError(error)}`),
    );
  };
  return {
    sessionId,
    nextSequence: () => sequence++,
    use: async (work) => {
      users++;
      try {
        return await work();
      } finally {
        users--;
        freeIfUnused();
      }
    },
    retire: () => {
      retired = true;
      freeIfUnused();
    },
  };
}
