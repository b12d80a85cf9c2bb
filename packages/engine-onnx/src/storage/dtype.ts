/** Data types of stored weights, and their conversion to and from float32. */
import { bfloatOfNumber, halfOfNumber } from '@trinity-rft/chat/internal';
import { numberOfHalf } from '@trinity-rft/core/support';

export const storedTypes = { F32: 4, BF16: 2, F16: 2 } as const;
/** A data type of safetensors files that the engine reads. */
export type StoredType = keyof typeof storedTypes;

export function isStoredType(name: string): name is StoredType {
  return Object.hasOwn(storedTypes, name);
}

/**
 * Decodes little-endian numbers. `bytes.length` must be a multiple of the size of `type`, and
 * `into` must have one element per number.
 */
export function decodeFloats(bytes: Uint8Array, type: StoredType, into: Float32Array): void {
  if (type === 'F32') {
    new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes);
    return;
  }
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, into.length);
  if (type === 'BF16') decodeBfloat16(halves, into);
  else decodeFloat16(halves, into);
}

/** Decodes bfloat16, which is the upper half of a float32. */
function decodeBfloat16(halves: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let i = 0; i < halves.length; i++) bits[i] = halves[i]! << 16;
}

function decodeFloat16(halves: Uint16Array, into: Float32Array): void {
  for (let i = 0; i < halves.length; i++) into[i] = numberOfHalf(halves[i]!);
}

/** Largest magnitude that each data type accepts; Infinity if there is no limit. */
export const largestOf: Readonly<Record<StoredType, number>> = {
  F32: Infinity,
  BF16: Infinity,
  F16: 65_519,
};

/** Encodes float32 numbers as little-endian bytes of `type`, rounding to nearest, ties to even. */
export function encodeFloats(values: Float32Array, type: StoredType): Uint8Array {
  if (type === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return type === 'BF16' ? encodeBfloat16(values) : encodeFloat16(values);
}

function encodeFloat16(values: Float32Array): Uint8Array {
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) halves[i] = halfOfNumber(values[i]!);
  return new Uint8Array(halves.buffer);
}

function encodeBfloat16(values: Float32Array): Uint8Array {
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) halves[i] = bfloatOfNumber(values[i]!);
  return new Uint8Array(halves.buffer);
}
