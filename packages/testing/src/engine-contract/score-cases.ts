/**
 * Contract cases: `score`, which returns the log-probabilities of given tokens under the sampler's
 * weights.
 */
import { ModelError, CancelledError } from '@trinity-rft/core';
import type { Engine, TokenRow } from '@trinity-rft/core/engine';
import { describe, expect, it, type TestContext } from 'vitest';
import {
  largestDifference,
  logprobsOf,
  sampleOne,
  trainOnce,
  type EngineFixture,
} from './fixture.js';

export function scoreCases({
  withEngine,
  batch,
  prompt,
  tolerance,
  learningRate,
  scoresAt,
}: EngineFixture): void {
  const temperatures = (wanted: readonly number[]): readonly number[] =>
    scoresAt === 'any' ? wanted : [1];

  type Score = (row: TokenRow, signal?: AbortSignal) => Promise<Float32Array>;
  const withScore = (
    skip: TestContext['skip'],
    work: (score: Score, engine: Engine) => Promise<void>,
  ): Promise<void> =>
    withEngine(async (engine) => {
      skip(engine.sampler.score === undefined, 'the engine cannot score text');
      await work((row, signal) => engine.sampler.score!(row, signal), engine);
    });

  describe('score', () => {
    it('gives back the log-probabilities of what was sampled, at the temperature it was sampled at', ({
      skip,
    }) =>
      withScore(skip, async (score, engine) => {
        for (const temperature of temperatures([1, 0.7])) {
          const { tokens, logprobs } = await sampleOne(engine, prompt(5), {
            maxTokens: 20,
            seed: 5,
            temperature,
          });
          const scored = await score({
            tokens: Int32Array.of(...prompt(5), ...tokens),
            promptLength: 5,
            temperature,
          });
          expect(largestDifference(scored, logprobs)).toBeLessThanOrEqual(tolerance);
        }
      }));

    it('uses the weights that were adopted, whatever the trainer does', ({ skip }) =>
      withScore(skip, async (score, engine) => {
        const row = batch().rows[2]!;
        const before = await score(row);
        expect(
          largestDifference(before, await logprobsOf(engine, { rows: [row] })),
        ).toBeLessThanOrEqual(tolerance);
        await trainOnce(engine, batch(), learningRate);
        expect([...(await score(row))]).toEqual([...before]);
        await engine.trainer.publish(1);
        await engine.sampler.adopt({ kind: 'published' }, 1);
        const after = await score(row);
        expect(
          largestDifference(after, await logprobsOf(engine, { rows: [row] })),
        ).toBeLessThanOrEqual(tolerance);
        expect(largestDifference(after, before)).toBeGreaterThan(tolerance);
      }));

    it('scores rows that are sent together as it scores each alone', ({ skip }) =>
      withScore(skip, async (score) => {
        const rows = temperatures([0.5, 1, 2]).flatMap((temperature) => batch(temperature).rows);
        const together = await Promise.all(rows.map((row) => score(row)));
        for (const [i, row] of rows.entries()) {
          expect(together[i]).toHaveLength(row.tokens.length - row.promptLength);
          expect(largestDifference(together[i]!, await score(row))).toBeLessThanOrEqual(tolerance);
        }
      }));

    it('rejects rows that are too long or invalid with status 400, and continues', ({ skip }) =>
      withScore(skip, async (score, { sampler: { maxModelLen } }) => {
        const row = batch().rows[0]!;
        const bad: readonly TokenRow[] = [
          { ...row, tokens: new Int32Array(maxModelLen + 1), promptLength: maxModelLen },
          { ...row, tokens: new Int32Array(maxModelLen + 1) },
          { ...row, promptLength: 0 },
          { ...row, promptLength: row.tokens.length },
          { ...row, temperature: 0 },
          { ...row, tokens: Int32Array.of(1, -1, 2, 3, 4) },
        ];
        const good = score(row);
        for (const rejected of bad) {
          const error: unknown = await score(rejected).catch((reason: unknown) => reason);
          expect(error).toBeInstanceOf(ModelError);
          expect(error).toMatchObject({ status: 400 });
        }
        expect([...(await good)]).toEqual([...(await score(row))]);
        expect(await score({ ...row, tokens: new Int32Array(maxModelLen) })).toHaveLength(
          maxModelLen - row.promptLength,
        );
      }));

    it('rejects when the signal aborts, and continues with the others', ({ skip }) =>
      withScore(skip, async (score) => {
        const row = batch().rows[0]!;
        const controller = new AbortController();
        const other = score(row);
        const aborted = score(row, controller.signal);
        controller.abort(new Error('enough'));
        const late = score(row, controller.signal);
        expect(
          (await Promise.allSettled([aborted, late])).map(
            (one) => one.status === 'rejected' && one.reason,
          ),
        ).toEqual(
          // The engine may finish before the abort takes effect.
          [expect.anything(), expect.any(CancelledError)],
        );
        expect(await other).toHaveLength(row.tokens.length - row.promptLength);
      }));
  });
}
