/** The formats that are written, by their names. */
import { tensorTypes } from './table.js';
import type { TensorType } from './types.js';

/** Formats that tensors can be written in. */
export const encodedTypes = ['F32', 'F16', 'BF16', 'Q8_0', 'Q4_K', 'Q6_K'] as const;
export type EncodedType = (typeof encodedTypes)[number];

/** A format with its number in ggml. */
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
