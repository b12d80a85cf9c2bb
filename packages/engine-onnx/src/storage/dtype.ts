/** Number formats of stored weights and their conversion to and from float32. */
import { numberOfHalf } from '@trinity-rft/chat/internal';

export const storedTypes = { F32: 4, BF16: 2, F16: 2 } as const;
/** A number format of a safetensors file that the engine reads. */
export type StoredType = keyof typeof storedTypes;

export function isStoredType(name: string): name is StoredType {
  return Object.hasOwn(storedTypes, name);
}

/**
 * Decodes little-endian numbers. `bytes.length` is a multiple of the size of `type`; `into` has one
 * element per number.
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

/** bfloat16 is the upper half of a float32. */
function decodeBfloat16(halves: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let i = 0; i < halves.length; i++) bits[i] = halves[i]! << 16;
}

function decodeFloat16(halves: Uint16Array, into: Float32Array): void {
  for (let i = 0; i < halves.length; i++) into[i] = numberOfHalf(halves[i]!);
}

/** The largest finite number of a format that is still encoded as a finite one. */
export const largestOf: Readonly<Record<StoredType, number>> = {
  F32: Infinity,
  BF16: Infinity,
  F16: 65_519,
};

/** Encodes little-endian, rounding to nearest, ties to even. */
export function encodeFloats(values: Float32Array, type: StoredType): Uint8Array {
  if (type === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return type === 'BF16' ? encodeBfloat16(values) : encodeFloat16(values);
}

/** The inverse of `numberOfHalf`; what is too large becomes infinite. */
function encodeFloat16(values: Float32Array): Uint8Array {
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) halves[i] = numberToFloat16(values[i]!);
  return new Uint8Array(halves.buffer);
}

function numberToFloat16(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(size)) return 0x7e00;
  if (size >= 65_520) return sign | 0x7c00;
  // The step between neighbours: 2^-24 below the normal numbers, else 2^(exponent - 10).
  const exponent = size < 2 ** -14 ? -14 : Math.floor(Math.log2(size));
  const steps = roundToEven(size / 2 ** (exponent - 10));
  // A mantissa that was rounded up to 2048 carries into the exponent by itself.
  return size < 2 ** -14 ? sign | steps : sign | (((exponent + 15) << 10) + (steps - 1024));
}

function roundToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
}

function encodeBfloat16(values: Float32Array): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i]!;
    // Rounding a NaN up could turn it into infinity: make it a quiet NaN instead.
    const isNaN = (value & 0x7fffffff) > 0x7f800000;
    halves[i] = isNaN ? (value >>> 16) | 0x40 : (value + 0x7fff + ((value >>> 16) & 1)) >>> 16;
  }
  return new Uint8Array(halves.buffer);
}
