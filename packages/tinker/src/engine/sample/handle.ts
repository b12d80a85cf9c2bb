/**
 * Handle for weights on the server. It frees the weights when they are retired and no request uses
 * them.
 */
import { describeError, type Logger } from '@trinity-rft/core';

export interface SamplingHandle {
  readonly sessionId: string;
  /** Returns the sequence number for the next request, and increments the counter. */
  nextSequence(): number;
  /** Calls `work`, and keeps the weights on the server until `work` settles. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Marks the weights as no longer needed. They are freed when the last request that uses them
   * ends.
   */
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
