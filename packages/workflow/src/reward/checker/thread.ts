/** Starts the worker thread in which answers are compared. */
import { RewardError } from '@trinity-rft/core';
import { reviveError, type ErrorRecord } from '@trinity-rft/core/store';
import { startThread, type Link } from '@trinity-rft/core/worker-link';
import type { MathPair } from './rules.js';

export interface CompareMethods {
  /** Resolves when the thread has loaded its code. */
  ready(): undefined;
  compare(pair: MathPair): boolean;
}

export interface CompareOptions {
  readonly maxAnswerLength: number;
}

/**
 * Memory limits of the thread in MB, much more than comparing answers of limited length takes. If
 * the thread exceeds them, only the thread is terminated, not the process.
 */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

/**
 * Starts the thread.
 * @param onExit called with the cause if the thread ends unexpectedly or cannot be started
 * @throws RewardError if the thread cannot be started
 */
export function startCompareThread(
  options: CompareOptions,
  onExit: (cause: unknown) => void,
): Link<CompareMethods> {
  return startThread<CompareMethods, CompareOptions>(
    () => new URL('./worker.js', import.meta.url),
    {
      name: 'trinity-math',
      data: options,
      resourceLimits,
      keepAlive: 'while-waiting',
      toError: (record: ErrorRecord) => reviveError(record, RewardError),
      onExit: ({ cause }) => {
        onExit(cause);
        return new RewardError('The thread that compares math answers ended.', { cause });
      },
    },
  );
}
