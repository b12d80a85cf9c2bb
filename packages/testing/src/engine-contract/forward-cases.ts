/** Contract cases: the forward pass, `forward`. */
import { EngineError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import {
  largestDifference,
  logprobsOf,
  responseTokens,
  trainOnce,
  type EngineFixture,
} from './fixture.js';

export function forwardCases({
  withEngine,
  batch,
  vocabSize,
  tolerance,
  learningRate,
}: EngineFixture): void {
  describe('forward', () => {
    it('gives one log-probability <= 0 per response token, rows one after the other', () =>
      withEngine(async ({ trainer }) => {
        const { rows } = batch();
        const pass = await trainer.forward({ rows });
        expect([...pass.offsets]).toEqual(
          rows.map((_, i) => responseTokens(rows.slice(0, i))).concat(responseTokens(rows)),
        );
        expect(pass.logprobs).toHaveLength(responseTokens(rows));
        expect([...pass.logprobs].filter((value) => !(value <= 0 && value > -Infinity))).toEqual(
          [],
        );
        expect(pass.entropy).toBeUndefined();
      }));

    it('gives entropies between 0 and ln V when asked', ({ skip }) =>
      withEngine(async ({ trainer, capabilities }) => {
        skip(!capabilities.entropy, 'the engine computes no entropy');
        const { entropy } = await trainer.forward(batch(), { entropy: true });
        expect(entropy).toHaveLength(responseTokens(batch().rows));
        expect(Math.min(...entropy!)).toBeGreaterThanOrEqual(0);
        expect(Number.isFinite(Math.max(...entropy!))).toBe(true);
      }));

    it('gives the expectation of p (H + log p) over the vocabulary when asked, where it says so', ({
      skip,
    }) =>
      withEngine(async ({ trainer, capabilities }) => {
        skip(!capabilities.necs, 'the engine does not compute it');
        const next = Array.from({ length: vocabSize }, (_, token) => ({
          tokens: Int32Array.of(1, 2, token),
          promptLength: 2,
          temperature: 0.7,
        }));
        const { logprobs, entropy, necs } = await trainer.forward(
          { rows: next },
          { entropy: true, necs: true },
        );
        const probabilities = logprobs.map((logprob) => Math.exp(logprob));
        skip(
          Math.abs(probabilities.reduce((a, b) => a + b, 0) - 1) > 1e-3,
          'the vocabulary has other tokens',
        );
        const expected = probabilities.reduce(
          (sum, p, token) => sum + p * p * (entropy![token]! + logprobs[token]!),
          0,
        );
        expect(
          largestDifference(
            necs!,
            Array.from(necs!, () => expected),
          ),
        ).toBeLessThan(1e-5);
        expect(Math.abs(expected)).toBeGreaterThan(1e-4);
        expect(
          (await trainer.forward({ rows: next.slice(0, 2) }, { necs: true })).necs,
        ).toHaveLength(2);
      }));

    it('gives the same bits twice', () =>
      withEngine(async (engine) => {
        expect(await logprobsOf(engine, batch())).toEqual(await logprobsOf(engine, batch()));
      }));

    it('scores a row independently of the rest of the batch', () =>
      withEngine(async (engine) => {
        const { rows } = batch();
        const together = await logprobsOf(engine, { rows });
        const alone = (
          await Promise.all([0, 1, 2].map(async (i) => logprobsOf(engine, { rows: [rows[i]!] })))
        ).flat();
        expect(largestDifference(together, alone)).toBeLessThanOrEqual(tolerance);
      }));

    it('gives a token the same log-probability wherever the prompt ends', () =>
      withEngine(async (engine) => {
        const row = batch().rows[2]!;
        const all = await logprobsOf(engine, { rows: [{ ...row, promptLength: 1 }] });
        const tail = await logprobsOf(engine, { rows: [{ ...row, promptLength: 6 }] });
        expect(largestDifference(all.slice(5), tail)).toBeLessThanOrEqual(tolerance);
      }));

    it('flattens the distribution as the temperature rises', ({ skip }) =>
      withEngine(async ({ trainer, capabilities }) => {
        skip(!capabilities.anyTemperature, 'the engine scores at temperature 1 only');
        const [cold, hot] = [
          await trainer.forward(batch(0.5), { entropy: capabilities.entropy }),
          await trainer.forward(batch(2), { entropy: capabilities.entropy }),
        ];
        expect(largestDifference(cold.logprobs, hot.logprobs)).toBeGreaterThan(tolerance);
        const [before, after] = [cold.entropy ?? [], [...(hot.entropy ?? [])]];
        expect(after.every((entropy, i) => entropy > before[i]!)).toBe(true);
      }));

    it('gives probabilities over the vocabulary that sum to at most one', () =>
      withEngine(async (engine) => {
        const rows = Array.from({ length: Math.min(vocabSize, 512) }, (_, token) => ({
          tokens: Int32Array.of(1, 2, token),
          promptLength: 2,
          temperature: 1,
        }));
        const total = (await logprobsOf(engine, { rows })).reduce(
          (sum, logprob) => sum + Math.exp(logprob),
          0,
        );
        expect(total).toBeLessThanOrEqual(1 + rows.length * tolerance);
        expect(total).toBeGreaterThan(0);
      }));

    it('keeps the reference weights when the current ones learn', ({ skip }) =>
      withEngine(async (engine) => {
        skip(!engine.capabilities.referenceModel, 'the engine has no reference model');
        const before = await logprobsOf(engine, batch());
        await trainOnce(engine, batch(), learningRate);
        expect(
          largestDifference(await logprobsOf(engine, batch(), { weights: 'reference' }), before),
        ).toBeLessThanOrEqual(tolerance);
        expect(largestDifference(await logprobsOf(engine, batch()), before)).toBeGreaterThan(
          tolerance,
        );
      }));

    it('rejects rows it cannot score', () =>
      withEngine(async ({ trainer }) => {
        const tokens = Int32Array.of(1, 2, 3);
        for (const promptLength of [0, 3, 1.5]) {
          await expect(
            trainer.forward({ rows: [{ tokens, promptLength, temperature: 1 }] }),
          ).rejects.toBeInstanceOf(EngineError);
        }
        await expect(
          trainer.forward({
            rows: [{ tokens: Int32Array.of(1, -1, 3), promptLength: 1, temperature: 1 }],
          }),
        ).rejects.toBeInstanceOf(EngineError);
        await expect(
          trainer.forward({ rows: [{ tokens, promptLength: 1, temperature: 0 }] }),
        ).rejects.toBeInstanceOf(EngineError);
      }));
  });
}
