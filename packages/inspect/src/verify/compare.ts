/** Compares recorded log-probabilities with recomputed ones, token by token. */
import { type Experience, uid, type CallSpan } from '@trinity-rft/core';
import type { Worst } from './report.js';

/** The calls of one experience that were sampled with the same policy version. */
export interface Recorded {
  readonly experience: Experience;
  readonly spans: readonly CallSpan[];
}

export interface Comparison {
  /**
   * Adds a record to the result.
   * @param recomputed log-probabilities of all response tokens. @default undefined: the tokens are
   * counted but not compared
   */
  add(record: Recorded, recomputed?: Float32Array): void;
  /**
   * Returns the result for the records added so far. `largest` and `mean` are absolute differences
   * over all compared tokens. They are Infinity if a recomputed log-probability is not finite.
   */
  result(): {
    readonly tokens: number;
    readonly largest: number;
    readonly mean: number;
    readonly worst: Worst | undefined;
  };
}

export function createComparison(): Comparison {
  let tokens = 0;
  let sum = 0;
  let largest = 0;
  let worst: Worst | undefined;

  const compareToken = (
    { eid, logprobs }: Experience,
    { step }: CallSpan,
    token: number,
    recomputed: number,
  ): void => {
    const recorded = logprobs[token] ?? NaN;
    // Comparisons with NaN are never true. Without this check, broken weights would pass.
    const difference = Number.isFinite(recomputed) ? Math.abs(recorded - recomputed) : Infinity;
    sum += difference;
    if (difference <= largest && worst) return;
    largest = difference;
    worst = { uid: uid(eid), step, token, recorded, recomputed };
  };

  return {
    add: ({ experience, spans }, recomputed) => {
      for (const span of spans) {
        for (let token = span.start; token < span.end; token++) {
          if (experience.actionMask[token] === 0) continue;
          tokens++;
          if (recomputed) compareToken(experience, span, token, recomputed[token] ?? NaN);
        }
      }
    },
    result: () => ({ tokens, largest, mean: sum / Math.max(1, tokens), worst }),
  };
}
