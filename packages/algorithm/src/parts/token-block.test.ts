import type { LossInput } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lossInput } from '../../test/arbitrary.js';
import { repeatRows } from '../../test/batches.js';
import { forEachBlock, type TokenBlock } from './token-block.js';
import { blockSize } from './visit.js';

const all = { rollouts: true, referenceLogprobs: true, entropy: 'value' } as const;

/** A copy of the numbers of every token, with the block that it was in. */
function tokensOf(
  input: LossInput,
  needs: Parameters<typeof forEachBlock>[1]['needs'] = all,
): readonly (readonly number[])[] {
  const tokens: number[][] = [];
  let blocks = 0;
  forEachBlock(
    input,
    { needs },
    ({ size, at, row, current, d, advantage, a, entropy }: TokenBlock) => {
      blocks++;
      for (let i = 0; i < size; i++)
        tokens.push([
          blocks,
          at[i]!,
          row[i]!,
          current[i]!,
          d[i]!,
          advantage[i]!,
          a[i]!,
          entropy[i]!,
        ]);
    },
  );
  return tokens;
}

/** Batches of one to many blocks. */
const batches = fc
  .tuple(lossInput, fc.constantFrom(1, 40, 200))
  .map(([input, times]) => repeatRows(input, times));

describe('blocks of tokens', () => {
  it('hold every trained token once, in order, with its row and its numbers', () => {
    fc.assert(
      fc.property(batches, (input) => {
        const {
          offsets,
          actionMask,
          currentLogprobs: x,
          oldLogprobs: o,
          refLogprobs: f,
          advantages,
          entropy,
        } = input;
        const trained = [...actionMask.keys()].filter((t) => actionMask[t] === 1);
        const wanted = trained.map((t) => {
          const row = offsets.findLastIndex((offset) => offset <= t);
          return [t, row, x[t]!, x[t]! - o[t]!, advantages[t]!, f![t]! - x[t]!, entropy![t]!];
        });
        const tokens = tokensOf(input);
        expect(tokens.map(([, ...token]) => token)).toEqual(wanted);
        expect(tokens.at(-1)?.[0] ?? 0).toBeLessThanOrEqual(
          Math.ceil(actionMask.length / blockSize),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('hold rows of one kind where experts are told from others', () => {
    fc.assert(
      fc.property(batches, (input) => {
        const kindOf = new Map<number, number>();
        for (const [block, , row] of tokensOf(input, { ...all, expertMask: true })) {
          const kind = input.expertMask![row!]!;
          expect(kindOf.get(block!) ?? kind).toBe(kind);
          kindOf.set(block!, kind);
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each(['currentLogprobs', 'oldLogprobs', 'advantages', 'refLogprobs', 'entropy'] as const)(
    'of %s that are not finite are refused',
    (field) => {
      const one = (): Float32Array => Float32Array.of(-1, -1);
      const numbers = {
        currentLogprobs: one(),
        oldLogprobs: one(),
        advantages: one(),
        refLogprobs: one(),
        entropy: one(),
      };
      const count = (value: number, t: number): readonly [refused: number, visited: number] => {
        const input = {
          offsets: Int32Array.of(0, 2),
          actionMask: Uint8Array.of(1, 0),
          ...numbers,
          [field]: one().fill(value, t, t + 1),
          step: 1,
        };
        let [refused, visited] = [0, 0];
        forEachBlock(input, { needs: all, refuse: () => refused++ }, () => visited++);
        return [refused, visited];
      };
      expect([NaN, Infinity, -Infinity].map((value) => count(value, 0))).toEqual(
        [1, 1, 1].map(() => [1, 0]),
      );
      expect(count(NaN, 1)).toEqual([0, 1]);
    },
  );
});
