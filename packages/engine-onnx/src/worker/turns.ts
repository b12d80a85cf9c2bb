/**
 * Shares the thread between trainer and sampler while both have work: by time, not by number of
 * runs.
 */

export type Party = 'train' | 'sample';

/**
 * One run at a time; of two that wait, the party goes first that has had less time since both began
 * to want it.
 */
export class Turns {
  readonly #now: () => number;
  readonly #waiting = new Map<Party, () => void>();
  readonly #used: Record<Party, number> = { train: 0, sample: 0 };
  #busy = false;

  /** @param now milliseconds of any steady clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Runs `work` when it is the turn of `party`. A party asks for its next turn after the last one,
   * never for two at once.
   */
  async take<T>(party: Party, work: () => Promise<T>): Promise<T> {
    if (this.#busy) await new Promise<void>((resolve) => this.#waiting.set(party, resolve));
    this.#busy = true;
    const start = this.#now();
    try {
      return await work();
    } finally {
      this.#used[party] += this.#now() - start;
      this.#leave(party);
    }
  }

  #leave(party: Party): void {
    if (this.#waiting.size === 0) {
      // Time that nobody else wanted is no debt.
      const other = party === 'train' ? 'sample' : 'train';
      this.#used[other] = Math.max(this.#used[other], this.#used[party]);
      this.#busy = false;
      return;
    }
    // By the next turn of the event loop, whoever has just left wants to go on, or has nothing left
    // to do.
    setImmediate(() => {
      const next = [...this.#waiting.keys()].toSorted((a, b) => this.#used[a] - this.#used[b])[0]!;
      const enter = this.#waiting.get(next)!;
      this.#waiting.delete(next);
      enter();
    });
  }
}
