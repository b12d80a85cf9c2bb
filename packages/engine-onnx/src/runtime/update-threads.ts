/**
 * Divides updates of many weights among threads. The results equal those of a single thread, bit
 * for bit.
 */
import { EngineError, InvariantError } from '@trinity-rft/core';
import { startThread, type Link } from '@trinity-rft/core/worker-link';
import { isShared } from './shared-numbers.js';
import { updateRange, type FlatUpdate, type Range, type UpdateArrays } from './update-range.js';

interface RangeUpdate {
  readonly arrays: UpdateArrays;
  readonly plan: FlatUpdate;
  readonly range: Range;
}

export type UpdateMethods = { update(part: RangeUpdate): void };

/** Maximum number of threads. More threads would only wait for memory. */
const mostThreads = 4;

export class UpdateThreads {
  readonly #others: number;
  #links: readonly Link<UpdateMethods>[] = [];

  /**
   * Creates an updater.
   * @param threads number of threads, including the caller's thread. The other threads start with
   * the first update that needs them
   */
  constructor(threads: number) {
    this.#others = Math.min(threads, mostThreads) - 1;
  }

  /**
   * Applies `plan`. Uses all threads if all arrays are in shared memory, otherwise only the calling
   * thread.
   * @throws EngineError when a thread ends; the arrays are then partly updated
   */
  async update(arrays: UpdateArrays, plan: FlatUpdate): Promise<void> {
    const size = arrays.from.length;
    if (this.#others < 1 || !Object.values(arrays).every(isShared)) {
      updateRange(arrays, plan, { start: 0, end: size });
      return;
    }
    this.#start();
    const share = Math.ceil(size / (this.#others + 1));
    const others = this.#links.map((link, i) => {
      const start = share * (i + 1);
      const range = { start, end: Math.min(size, start + share) };
      return link.call('update', { arrays, plan, range });
    });
    updateRange(arrays, plan, { start: 0, end: share });
    await Promise.all(others);
  }

  async close(): Promise<void> {
    const closed = new EngineError('The trainer was closed.', { code: 'ENGINE_CLOSED' });
    await Promise.all(this.#links.map((link) => link.close(closed)));
    this.#links = [];
  }

  #start(): void {
    if (this.#links.length > 0) return;
    this.#links = Array.from({ length: this.#others }, startUpdateThread);
  }
}

function startUpdateThread(): Link<UpdateMethods> {
  return startThread<UpdateMethods, undefined>(
    () => new URL('./update-thread.js', import.meta.url),
    {
      name: 'trinity-update',
      data: undefined,
      keepAlive: 'while-waiting',
      toError: (reason: string) => new InvariantError(`A part of an update failed: ${reason}`),
      onExit: ({ exitCode, cause }) =>
        new EngineError(
          `A thread that updates weights ended (exit code ${exitCode ?? 'none'}), so the weights are partly updated. ` +
            'Open the engine again from the last checkpoint; if memory ran out, train a smaller model.',
          { code: 'ENGINE_WORKER_DIED', details: { exitCode }, cause },
        ),
    },
  );
}
