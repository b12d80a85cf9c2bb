/** Contract cases: the values that a critic computes for a batch. */
import { EngineError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { largestDifference, responseTokens } from '../engine-contract/fixture.js';
import { valuesOf, type ValueFixture } from './fixture.js';

export function valueCases({ withCritic, batch, tolerance }: ValueFixture): void {
  describe('forward', () => {
    it('gives one finite value per response token, rows one after the other', () =>
      withCritic(async (critic) => {
        const { rows } = batch();
        const pass = await critic.forward({ rows });
        expect([...pass.offsets]).toEqual(
          rows.map((_, i) => responseTokens(rows.slice(0, i))).concat(responseTokens(rows)),
        );
        expect(pass.values).toHaveLength(responseTokens(rows));
        expect([...pass.values].filter((value) => !Number.isFinite(value))).toEqual([]);
        expect(new Set(pass.values).size).toBeGreaterThan(1);
      }));

    it('gives the same bits twice', () =>
      withCritic(async (critic) => {
        expect(await valuesOf(critic, batch())).toEqual(await valuesOf(critic, batch()));
      }));

    it('values the state that a token was drawn in: only tokens before it count', () =>
      withCritic(async (critic) => {
        const row = batch().rows[2]!;
        const before = await valuesOf(critic, { rows: [row] });
        for (const at of [5, 8]) {
          const tokens = row.tokens.slice();
          tokens[at] = (tokens[at]! + 1) % 8;
          const after = await valuesOf(critic, { rows: [{ ...row, tokens }] });
          const drawn = at - row.promptLength;
          expect(
            largestDifference(after.slice(0, drawn + 1), before.slice(0, drawn + 1)),
          ).toBeLessThanOrEqual(tolerance);
          expect(Math.abs(after[drawn + 1]! - before[drawn + 1]!)).toBeGreaterThan(tolerance);
        }
      }));

    it('values a row independently of the rest of the batch', () =>
      withCritic(async (critic) => {
        const { rows } = batch();
        const together = await valuesOf(critic, { rows });
        const alone: number[] = [];
        for (const row of rows) alone.push(...(await valuesOf(critic, { rows: [row] })));
        expect(largestDifference(together, alone)).toBeLessThanOrEqual(tolerance);
      }));

    it('gives a state the same value wherever the prompt ends, at every temperature', () =>
      withCritic(async (critic) => {
        const row = batch().rows[2]!;
        const all = await valuesOf(critic, { rows: [{ ...row, promptLength: 1 }] });
        const tail = await valuesOf(critic, {
          rows: [{ ...row, promptLength: 6, temperature: 0.5 }],
        });
        expect(largestDifference(all.slice(5), tail)).toBeLessThanOrEqual(tolerance);
      }));

    it('rejects rows it cannot read', () =>
      withCritic(async (critic) => {
        const tokens = Int32Array.of(1, 2, 3);
        for (const promptLength of [0, 3, 1.5]) {
          await expect(
            critic.forward({ rows: [{ tokens, promptLength, temperature: 1 }] }),
          ).rejects.toBeInstanceOf(EngineError);
        }
        const stray = { tokens: Int32Array.of(1, -1, 3), promptLength: 1, temperature: 1 };
        await expect(critic.forward({ rows: [stray] })).rejects.toBeInstanceOf(EngineError);
      }));
  });
}
