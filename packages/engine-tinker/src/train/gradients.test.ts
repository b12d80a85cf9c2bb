import type { ForwardPass, TokenRow } from '@trinity-rft/core/internal';
import type { Datum, TensorValues } from '@trinity-rft/tinker-protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf, gatherGradients, gradientPass, type Normalisation } from './gradients.js';
import { offsetsOf } from './rows.js';

const finite = fc.float({ min: -4, max: 4, noNaN: true });
const batchOf = fc
  .array(
    fc.record({
      prompt: fc.integer({ min: 1, max: 3 }),
      response: fc.array(finite, { minLength: 1, maxLength: 5 }),
    }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((parts) => ({
    rows: parts.map(({ prompt, response }): TokenRow => ({
      tokens: new Int32Array(prompt + response.length),
      promptLength: prompt,
      temperature: 1,
    })),
    gradients: Float32Array.from(parts.flatMap(({ response }) => response)),
  }));

const passOf = (rows: readonly TokenRow[]): ForwardPass => {
  const offsets = offsetsOf(rows);
  const logprobs = Float32Array.from({ length: offsets.at(-1) ?? 0 }, (_, i) => -0.1 * (i + 1));
  return { batch: { rows }, offsets, logprobs };
};

const numbers = (values: TensorValues | undefined): readonly number[] => [...(values ?? [])];

/** dLoss/dlogprob of the loss of a datum, as servers define it, where logprob is `at`. */
const derivatives: Readonly<
  Record<Normalisation, (datum: Datum, count: number, at: readonly number[]) => readonly number[]>
> = {
  // -sum(w lp)
  sum: ({ inputs }) => numbers(inputs['weights']).map((weight) => -weight),
  // -mean(exp(lp - logprobs) A), and the mean over data
  'mean-per-datum': ({ inputs }, count, at) =>
    numbers(inputs['advantages']).map((advantage, t) => {
      const known = inputs['logprobs']?.[t] ?? 0;
      return (-advantage * Math.exp((at[t] ?? 0) - known)) / at.length / count;
    }),
};

describe('the passes of an update', () => {
  it.each(['sum', 'mean-per-datum'] as const)(
    'have the gradients that were gathered, on a server of normalisation %s',
    (normalisation) => {
      fc.assert(
        fc.property(batchOf, ({ rows, gradients }) => {
          const sum = gatherGradients();
          const pass = passOf(rows);
          sum.add(pass, gradients);
          sum.add(
            pass,
            gradients.map((value) => value / 2),
          );
          const { data } = gradientPass(sum.take(), normalisation);
          const kept = rows.filter((_, i) =>
            gradients.subarray(pass.offsets[i], pass.offsets[i + 1]).some((value) => value !== 0),
          );
          expect(data).toHaveLength(kept.length);
          for (const [i, row] of kept.entries()) {
            const at = rows.indexOf(row);
            const from = pass.offsets[at] ?? 0;
            const datum = data[i]!;
            const known = [
              ...new Float32Array(row.promptLength - 1),
              ...pass.logprobs.subarray(from, pass.offsets[at + 1]),
            ];
            const found = derivatives[normalisation](datum, data.length, known);
            const expected = [
              ...new Float32Array(row.promptLength - 1),
              ...gradients.subarray(from, pass.offsets[at + 1]).map((value) => value * 1.5),
            ];
            for (const [t, value] of expected.entries()) expect(found[t]).toBeCloseTo(value, 4);
          }
        }),
        { numRuns: 50 },
      );
    },
  );

  it('hold nothing after an update, and refuse numbers that are none', () => {
    const sum = gatherGradients();
    const pass = passOf([{ tokens: new Int32Array(3), promptLength: 1, temperature: 1 }]);
    sum.add(pass, Float32Array.of(1, 2));
    expect(sum.take().size).toBe(1);
    expect(sum.take().size).toBe(0);
    expect(() => sum.add(pass, Float32Array.of(1, Number.NaN))).toThrow(
      'The gradient of response token 1 is NaN',
    );
    expect(() => sum.add(pass, Float32Array.of(1))).toThrow('1 gradients for 2 response tokens');
  });

  it('are sent in requests of at most 128 rows, in their order', () => {
    const data = Array.from({ length: 300 }, (_, i) => ({ tokens: Int32Array.of(i), inputs: {} }));
    const chunks = chunksOf(data);
    expect(chunks.map((chunk) => chunk.length)).toEqual([128, 128, 44]);
    expect(chunks.flat()).toEqual(data);
    expect(chunksOf([])).toEqual([]);
  });
});
