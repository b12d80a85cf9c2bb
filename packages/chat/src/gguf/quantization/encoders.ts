import { tensorTypes } from './table.js';
import type { TensorType } from './types.js';

/** Data types in which tensors can be written. */
export const encodedTypes = ['F32', 'F16', 'BF16', 'Q8_0', 'Q4_K', 'Q6_K'] as const;
export type EncodedType = (typeof encodedTypes)[number];

/**
 * Largest magnitude that each data type stores as a finite number. Scales are stored as float16, in
 * which numbers of 65,520 and more become infinite. The limits of Q4_K and Q6_K leave a margin,
 * because fitted scales and offsets may be larger than the numbers require.
 */
export const largestOf: Readonly<Record<EncodedType, number>> = {
  F32: 2 ** 128 - 2 ** 104,
  F16: 65_519,
  BF16: 2 ** 128 - 2 ** 119 - 2 ** 104,
  Q8_0: 127 * 65_519,
  Q4_K: 32 * 65_519,
  Q6_K: 3072 * 65_519,
};

/** A data type that can be written, with its number in ggml. */
export interface Encoder extends TensorType {
  readonly number: number;
  readonly encode: NonNullable<TensorType['encode']>;
}

const encoders = new Map(
  [...tensorTypes].flatMap(([number, type]): (readonly [string, Encoder])[] => {
    const { encode } = type;
    return encode ? [[type.name, { ...type, number, encode }]] : [];
  }),
);

export function encoderOf(name: EncodedType): Encoder {
  const encoder = encoders.get(name);
  if (!encoder) throw new TypeError(`${name} has no encoder`);
  return encoder;
}
