import { CancelledError, EngineError } from '@trinity-rft/core';
import type { TokenBatch, TokenRow } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';

import { tinyModels } from '../../test/support/models.js';
import type { ArraySet } from '../runtime/graph-runtime.js';
import { checkScore, Scorer, type ScorerOptions, type ScoringWeights } from './scorer.js';

const row = (length: number): TokenRow => ({
  tokens: Int32Array.from({ length: length + 1 }, () => length),
  promptLength: 1,
  temperature: 1,
});

/** A scorer whose scores are the first token of a row plus the offset of its weights; records its runs. */
function countingScorer(
  options: { readonly maxRows?: number; readonly read?: ScorerOptions['read'] } = {},
) {
  const runs: TokenBatch[] = [];
  const plain: ScorerOptions['read'] = (batch, set) => {
    runs.push(batch);
    const counts = batch.rows.map(({ tokens, promptLength }) => tokens.length - promptLength);
    const offsets = Int32Array.of(
      0,
      ...counts.map((_, i) => counts.slice(0, i + 1).reduce((a, b) => a + b)),
    );
    const offset = (set as unknown as { readonly offset: number }).offset;
    const logprobs = Float32Array.from(
      batch.rows.flatMap(({ tokens }, i) =>
        Array.from({ length: counts[i]! }, () => tokens[0]! + offset),
      ),
    );
    return Promise.resolve({ offsets, logprobs });
  };
  const scorer = new Scorer({ maxRows: options.maxRows ?? 64, read: options.read ?? plain });
  return { scorer, runs, plain };
}

/** Weights that count their holders. */
function weightsOf(offset: number): {
  readonly hold: () => ScoringWeights;
  readonly held: () => number;
} {
  const set = { offset } as unknown as ArraySet;
  let held = 0;
  const hold = (): ScoringWeights => {
    held++;
    return { set, version: offset, release: () => void held-- };
  };
  return { hold, held: () => held };
}

const stopped = new CancelledError('enough', { reason: 'aborted' });

describe('a scorer', () => {
  it('reads rows that come together in one run, in their order, and lets go of the weights', async () => {
    const { scorer, runs } = countingScorer();
    const weights = weightsOf(100);
    const tickets = [3, 1, 2].map((length) => scorer.submit(row(length), weights.hold()));
    expect(await Promise.all(tickets.map(({ result }) => result))).toEqual([
      Float32Array.of(103, 103, 103),
      Float32Array.of(101),
      Float32Array.of(102, 102),
    ]);
    expect(runs.map(({ rows }) => rows.length)).toEqual([3]);
    expect(weights.held()).toBe(0);
    expect(await scorer.submit(row(2), weights.hold()).result).toEqual(Float32Array.of(102, 102));
  });

  it('parts runs where the weights change and where they would be too long', async () => {
    const { scorer, runs } = countingScorer({ maxRows: 2 });
    const [one, two] = [weightsOf(10), weightsOf(20)];
    const tickets = [one, one, one, two, one].map((weights) =>
      scorer.submit(row(1), weights.hold()),
    );
    const scores = await Promise.all(tickets.map(({ result }) => result));
    expect(scores.map(([score]) => score)).toEqual([11, 11, 11, 21, 11]);
    expect(runs.map(({ rows }) => rows.length)).toEqual([2, 1, 1, 1]);
  });

  it('leaves out rows that were given up, and answers them at once', async () => {
    const { scorer, runs } = countingScorer();
    const weights = weightsOf(0);
    const [given, kept] = [
      scorer.submit(row(1), weights.hold()),
      scorer.submit(row(2), weights.hold()),
    ];
    given.cancel(stopped);
    await expect(given.result).rejects.toBe(stopped);
    expect(await kept.result).toEqual(Float32Array.of(2, 2));
    expect(runs.map(({ rows }) => rows.length)).toEqual([1]);
    expect(weights.held()).toBe(0);
  });

  it('says which version of the weights gives no finite number, and answers the others', async () => {
    const bad: ScorerOptions['read'] = () =>
      Promise.resolve({ offsets: Int32Array.of(0, 1, 2), logprobs: Float32Array.of(NaN, -1) });
    const { scorer } = countingScorer({ read: bad });
    const weights = weightsOf(7);
    const [first, second] = [1, 1].map(
      (length) => scorer.submit(row(length), weights.hold()).result,
    );
    const outcomes = await Promise.allSettled([first, second]);
    expect(outcomes[0]).toMatchObject({
      status: 'rejected',
      reason: { code: 'ENGINE_NOT_FINITE', details: { policyVersion: 7 } },
    });
    expect(outcomes[1]).toMatchObject({ status: 'fulfilled', value: Float32Array.of(-1) });
  });

  it('fails the rows of a run that fails, and continues', async () => {
    let first = true;
    const { plain } = countingScorer();
    const { scorer } = countingScorer({
      read: async (batch, set) => {
        if (!first) return plain(batch, set);
        first = false;
        throw new EngineError('out of memory');
      },
    });
    const weights = weightsOf(0);
    await expect(scorer.submit(row(1), weights.hold()).result).rejects.toThrow('out of memory');
    expect(await scorer.submit(row(1), weights.hold()).result).toEqual(Float32Array.of(1));
    expect(weights.held()).toBe(0);
  });

  it('answers what is open when it is closed, and rejects more', async () => {
    const { scorer, runs } = countingScorer();
    const weights = weightsOf(0);
    const open = scorer.submit(row(1), weights.hold());
    const closing = scorer.close(stopped);
    await expect(open.result).rejects.toBe(stopped);
    await expect(scorer.submit(row(1), weights.hold()).result).rejects.toBe(stopped);
    await closing;
    expect([runs.length, weights.held()]).toEqual([0, 0]);
  });
});

it('a row that cannot be scored is rejected with what is wrong and status 400', () => {
  const check = (change: Partial<TokenRow>) => () =>
    checkScore({ ...row(3), ...change }, tinyModels.qwen3, { maxModelLen: 8 });
  expect(check({})).not.toThrow();
  expect(check({ tokens: new Int32Array(9), promptLength: 8 })).toThrow(
    'The prompt has 8 tokens and leaves no room',
  );
  expect(check({ tokens: new Int32Array(9) })).toThrow(
    'The row to score has 9 tokens, prompt and response together; expected at most 8',
  );
  expect(check({ tokens: new Int32Array(8) })).not.toThrow();
  expect(check({ temperature: 0 })).toThrow(
    'A row cannot be scored. Row 0 of the batch has the temperature 0; expected a positive number',
  );
});
