/** Implements {@link RunStore.waitForChange}. */
import { type Clock, sleep } from '@trinity-rft/core';
import type { RunStore } from '@trinity-rft/core/store';
import type { RunDatabase } from '../database/run-database.js';

export interface Waiting extends Pick<RunStore, 'waitForChange'> {
  close(): void;
}

export function waiting(database: RunDatabase, clock: Pick<Clock, 'after'>): Waiting {
  /** True if something was committed since the last wait ended. */
  let isNews = false;
  const waiters = new Set<() => void>();
  const wakeAll = (): void => {
    for (const wake of waiters) wake();
  };
  const end = database.listen(() => {
    isNews = true;
    wakeAll();
  });
  return {
    waitForChange: async (timeoutMs, signal) => {
      signal?.throwIfAborted();
      if (!isNews) await wait(timeoutMs, signal);
      isNews = false;
    },
    close: () => {
      end();
      wakeAll();
    },
  };

  async function wait(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    waiters.add(wake);
    const either = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
    try {
      await sleep(clock, timeoutMs, either);
    } catch (error) {
      if (signal?.aborted) throw error;
    } finally {
      waiters.delete(wake);
    }
  }
}
