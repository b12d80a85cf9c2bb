/**
 * Encodes and decodes tensors, which the protocol represents as little-endian bytes and a data
 * type.
 */

/** Values of a tensor. Integers are sent as int64, as the SDK does. */
export type TensorValues = Float32Array | Int32Array;

/** Numbers of the data types in the protocol. */
const dtypes = { float32: 1, int64: 2, int32: 3, bfloat16: 4 } as const;

const typeNames = new Map<number, string>(
  Object.entries(dtypes).map(([name, number]) => [number, name]),
);

export function floatBytes(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setFloat32(i * 4, value, true);
  return bytes;
}

export function int32Bytes(values: Int32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setInt32(i * 4, value, true);
  return bytes;
}

export function int64Bytes(values: ArrayLike<number>): Uint8Array {
  const bytes = new Uint8Array(values.length * 8);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; i++) view.setBigInt64(i * 8, BigInt(values[i] ?? 0), true);
  return bytes;
}

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns the number of values in `bytes`, given the size of a value in bytes. */
function count(bytes: Uint8Array, size: number): number {
  if (bytes.length % size === 0) return bytes.length / size;
  throw new RangeError(`${bytes.length} bytes are no list of numbers of ${size} bytes.`);
}

export function readFloats(bytes: Uint8Array): Float32Array {
  const view = viewOf(bytes);
  return Float32Array.from({ length: count(bytes, 4) }, (_, i) => view.getFloat32(i * 4, true));
}

export function readInt32s(bytes: Uint8Array): Int32Array {
  const view = viewOf(bytes);
  return Int32Array.from({ length: count(bytes, 4) }, (_, i) => view.getInt32(i * 4, true));
}

/**
 * Reads little-endian 64-bit integers.
 * @throws RangeError for magnitudes of 2^53 and above
 */
export function readInt64s(bytes: Uint8Array): readonly number[] {
  const view = viewOf(bytes);
  return Array.from({ length: count(bytes, 8) }, (_, i) => {
    const value = Number(view.getBigInt64(i * 8, true));
    if (Number.isSafeInteger(value)) return value;
    throw new RangeError(`${value} at position ${i} is beyond 2^53.`);
  });
}

/** Reads bfloat16 values. The bits of a bfloat16 are the upper half of a float32. */
function readBfloats(bytes: Uint8Array): Float32Array {
  const view = viewOf(bytes);
  const bits = new Uint32Array(count(bytes, 2));
  for (const i of bits.keys()) bits[i] = view.getUint16(i * 2, true) << 16;
  return new Float32Array(bits.buffer);
}

/**
 * Decodes a tensor. `dtype` is the protocol's number of its data type.
 * @throws RangeError if the data type is unknown, or ids exceed 32 bits
 */
export function readTensor(bytes: Uint8Array, dtype: number): TensorValues {
  if (dtype === dtypes.float32) return readFloats(bytes);
  if (dtype === dtypes.bfloat16) return readBfloats(bytes);
  if (dtype === dtypes.int32) return readInt32s(bytes);
  if (dtype === dtypes.int64) return toInt32s(readInt64s(bytes));
  const known = [...typeNames.values()].join(', ');
  throw new RangeError(`The tensor has the type ${dtype}, expected one of ${known}.`);
}

function toInt32s(values: readonly number[]): Int32Array {
  const wide = values.find((value) => value !== Math.trunc(value) || Math.abs(value) >= 2 ** 31);
  if (wide === undefined) return Int32Array.from(values);
  throw new RangeError(`The tensor holds ${wide}, which does not fit 32 bits.`);
}

export const tensorBytes = (values: TensorValues): { data: Uint8Array; dtype: number } =>
  values instanceof Float32Array
    ? { data: floatBytes(values), dtype: dtypes.float32 }
    : { data: int64Bytes(values), dtype: dtypes.int64 };
