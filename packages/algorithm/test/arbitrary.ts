/**
 * Random loss inputs with ragged rows, gaps in the mask, ties and extremes. All numbers are multiples
 * of 2^-10, and so exact in float32.
 */
import type { LossInput } from '@trinity-rft/core';
import fc from 'fast-check';

/**
 * A token is made of two random 32-bit words, because few draws make a property with a thousand batches
 * affordable.
 */
const token = fc.tuple(fc.nat(0xffffffff), fc.nat(0xffffffff));

type Words = readonly [number, number];

const bits = (word: number, at: number, width: number): number =>
  (word >>> at) & ((1 << width) - 1);

/** Log-ratios: zero, small, large, and far beyond the range that float32 can exponentiate. */
function difference(kind: number, value: number): number {
  const signed = value - 512;
  return [0, signed / 2048, signed / 128, Math.sign(signed) * [18, 24, 40, 100][value & 3]!][kind]!;
}

function advantage(kind: number, value: number): number {
  const signed = (value - 32) / 16;
  return [signed, signed, Math.sign(signed), value === 32 ? 100 : 0][kind]!;
}

interface Tokens {
  readonly trained: boolean;
  readonly current: number;
  readonly old: number;
  readonly reference: number;
  readonly advantage: number;
  readonly entropy: number;
  /** True if a row begins at this token. */
  readonly first: boolean;
}

function decode([a, b]: Words): Tokens {
  const toOld = difference(bits(a, 0, 2), bits(a, 2, 10));
  const toReference = difference(bits(b, 0, 2) % 3, bits(b, 2, 10));
  // Log-probabilities of both policies are at most 0.
  const current = Math.min(-bits(a, 12, 13) / 1024, toOld, toReference);
  return {
    current,
    old: current - toOld,
    reference: current - toReference,
    advantage: advantage(bits(b, 12, 2), bits(b, 14, 6)),
    trained: bits(b, 20, 2) > 0,
    first: bits(b, 22, 2) === 0,
    entropy: bits(b, 24, 8) / 64,
  };
}

function toInput(tokens: readonly Tokens[], seed: number): LossInput {
  const numbers = (
    field: 'current' | 'old' | 'reference' | 'advantage' | 'entropy',
  ): Float32Array => Float32Array.from(tokens, (each) => each[field]);
  const starts = tokens.flatMap(({ first }, t) => (first && t > 0 ? [t] : []));
  const offsets = Int32Array.from([0, ...starts, tokens.length]);
  return {
    offsets,
    actionMask: Uint8Array.from(tokens, ({ trained }) => (trained ? 1 : 0)),
    currentLogprobs: numbers('current'),
    oldLogprobs: numbers('old'),
    refLogprobs: numbers('reference'),
    // Advantages are stored with the mask applied.
    advantages: numbers('advantage').map((value, t) => (tokens[t]!.trained ? value : 0)),
    entropy: numbers('entropy'),
    expertMask: Uint8Array.from({ length: offsets.length - 1 }, (_, row) =>
      bits(seed, row % 16, 1),
    ),
    step: 1 + bits(seed, 16, 4),
  };
}

/**
 * One to ten tokens in rows of any length, including empty ones. Some rows are demonstrations of an
 * expert.
 */
export const lossInput: fc.Arbitrary<LossInput> = fc
  .tuple(fc.array(token, { minLength: 1, maxLength: 10 }), fc.nat(0xffffffff))
  .map(([words, seed]) => toInput(words.map(decode), seed));

/** Loss inputs with an even number of rows, which form pairs. */
export const pairedInput: fc.Arbitrary<LossInput> = lossInput.map((input) =>
  input.offsets.length % 2 === 1
    ? input
    : {
        ...input,
        offsets: Int32Array.from([...input.offsets, input.actionMask.length]),
        expertMask: Uint8Array.from([...input.expertMask!, 0]),
      },
);
