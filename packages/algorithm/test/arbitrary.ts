/** Random loss inputs: ragged rows, gaps in the mask, all numbers multiples of 2^-10. */
import type { LossInput } from '@trinity-rft/core';
import fc from 'fast-check';

const exact = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: min * 1024, max: max * 1024 }).map((value) => value / 1024);

export const lossInput: fc.Arbitrary<LossInput> = fc
  .array(
    fc.array(
      fc.record({
        trained: fc.boolean(),
        current: exact(-6, 0),
        old: exact(-6, 0),
        reference: exact(-6, 0),
        advantage: exact(-3, 3),
        entropy: exact(0, 4),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((rows) => {
    const tokens = rows.flat();
    const numbers = (field: 'current' | 'old' | 'reference' | 'advantage' | 'entropy'): Float32Array =>
      Float32Array.from(tokens, (token) => token[field]);
    return {
      offsets: Int32Array.from([0, ...rows.map((_, i) => rows.slice(0, i + 1).flat().length)]),
      actionMask: Uint8Array.from(tokens, ({ trained }) => (trained ? 1 : 0)),
      currentLogprobs: numbers('current'),
      oldLogprobs: numbers('old'),
      refLogprobs: numbers('reference'),
      // Advantages are stored masked.
      advantages: numbers('advantage').map((advantage, t) => (tokens[t]!.trained ? advantage : 0)),
      entropy: numbers('entropy'),
      step: 1,
    };
  });
