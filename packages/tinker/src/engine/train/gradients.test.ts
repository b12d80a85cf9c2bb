import type { ForwardPass, TokenRow } from '@trinity-rft/core/engine';
import type { Datum, TensorValues } from '../../protocol/index.js';
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

/** A batch of which nothing is sent, because its only gradient is 0. */
const zero = {
  rows: [{ tokens: new Int32Array(2), promptLength: 1, temperature: 1 }],
  gradients: Float32Array.of(0),
};

type Batch = typeof batchOf extends fc.Arbitrary<infer T> ? T : never;

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
  /** Gradient that the server holds after all passes. */
  const applied = (
    { rows, gradients }: Batch,
    known: Float32Array | undefined,
    normalisation: Normalisation,
  ): readonly number[] => {
    const sum = gatherGradients(normalisation);
    const pass = passOf(rows);
    if (known) sum.sent(pass, known);
    sum.add(pass, gradients);
    sum.add(
      pass,
      gradients.map((value) => value / 2),
    );
    const { data } = gradientPass(sum.take(), normalisation);
    const count = data.length + (known ? rows.length : 0);
    const worth = normalisation === 'sum' || count === 0 ? 1 : rows.length / count;
    return rows.flatMap((row, i) => {
      const [from = 0, to = 0] = [pass.offsets[i], pass.offsets[i + 1]];
      const logprobs = [
        ...new Float32Array(row.promptLength - 1),
        ...pass.logprobs.subarray(from, to),
      ];
      const datum = data.find(({ tokens }) => tokens.buffer === row.tokens.buffer);
      const found = datum && derivatives[normalisation](datum, count, logprobs);
      const responses = found?.slice(row.promptLength - 1) ?? [];
      return Array.from({ length: to - from }, (_, t) => {
        const before = (known?.[from + t] ?? 0) * worth;
        return before + (responses[t] ?? 0);
      });
    });
  };

  it.each(['sum', 'mean-per-datum'] as const)(
    'have the gradients that were gathered, on a server of normalisation %s',
    (normalisation) => {
      fc.assert(
        fc.property(batchOf, fc.constantFrom('none', 'all', 'some'), (batch, sent) => {
          const expected = batch.gradients.map((value) => value * 1.5);
          const known = expected.map((value, t) =>
            sent === 'some' && t % 3 === 1 ? -value : value,
          );
          const found = applied(batch, sent === 'none' ? undefined : known, normalisation);
          expect(found).toHaveLength(expected.length);
          for (const [t, value] of expected.entries()) expect(found[t]).toBeCloseTo(value, 4);
        }),
        { numRuns: 100, examples: [[zero, 'none']] },
      );
    },
  );

  it.each(['sum', 'mean-per-datum'] as const)(
    'are none where the server has the gradients already, on one of normalisation %s',
    (normalisation) => {
      const sum = gatherGradients(normalisation);
      const pass = passOf([{ tokens: new Int32Array(4), promptLength: 1, temperature: 1 }]);
      sum.sent(pass, Float32Array.of(0.1, -2, 0));
      sum.add(pass, Float32Array.of(0.1 * (1 + 1e-6), -2, 0));
      expect(gradientPass(sum.take(), normalisation).data).toEqual([]);
    },
  );

  it('hold nothing after an update, and refuse numbers that are none', () => {
    const sum = gatherGradients('sum');
    const pass = passOf([{ tokens: new Int32Array(3), promptLength: 1, temperature: 1 }]);
    sum.add(pass, Float32Array.of(1, 2));
    expect(sum.take().rows.size).toBe(1);
    expect(sum.take().rows.size).toBe(0);
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
