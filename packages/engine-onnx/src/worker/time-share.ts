/** Divides the time of a thread between trainer and sampler when both have work. */

export type Party = 'train' | 'sample';

/**
 * Executes one piece of work at a time. If trainer and sampler both wait, executes the work of
 * whichever has used less time since both have had work.
 */
export class TimeShare {
  readonly #now: () => number;
  readonly #settled: () => Promise<void>;
  readonly #waiting = new Map<Party, () => void>();
  readonly #used: Record<Party, number> = { train: 0, sample: 0 };
  #busy = false;

  /**
   * Creates a time share.
   * @param now returns the time in milliseconds from a monotonic clock
   * @param settled resolves when queued work is done. @default resolves immediately
   */
  constructor(now: () => number, settled = async (): Promise<void> => {}) {
    this.#now = now;
    this.#settled = settled;
  }

  /**
   * Executes `work` when it is the turn of `party`. The trainer and the sampler may each have at
   * most one waiting call.
   */
  async run<T>(party: Party, work: () => Promise<T>): Promise<T> {
    if (this.#busy) await new Promise<void>((resolve) => this.#waiting.set(party, resolve));
    this.#busy = true;
    const start = this.#now();
    try {
      const result = await work();
      // Charges queued work to `party`. Otherwise the other party would wait for this work and be
      // charged for the time.
      if (this.#waiting.size > 0) await this.#settled();
      return result;
    } finally {
      this.#used[party] += this.#now() - start;
      this.#endTurn(party);
    }
  }

  #endTurn(party: Party): void {
    if (this.#waiting.size === 0) {
      // Time that `party` uses while it alone has work does not count against it.
      const other = party === 'train' ? 'sample' : 'train';
      this.#used[other] = Math.max(this.#used[other], this.#used[party]);
      this.#busy = false;
      return;
    }
    // By the next turn of the event loop, trainer and sampler have requested their next work.
    setImmediate(() => this.#startNext());
  }

  #startNext(): void {
    const [next] = [...this.#waiting].toSorted(([a], [b]) => this.#used[a] - this.#used[b]);
    if (next === undefined) return;
    const [party, enter] = next;
    this.#waiting.delete(party);
    enter();
  }
}
