/** Metadata values with the data type that they have in the file, and their encoding. */

/**
 * Types of fixed size by name, with their type number in GGUF, their size in bytes and their
 * encoder.
 */
const scalars = {
  u32: { number: 4, bytes: 4, write: (to: Buffer, value: number) => to.writeUInt32LE(value) },
  i32: { number: 5, bytes: 4, write: (to: Buffer, value: number) => to.writeInt32LE(value) },
  f32: { number: 6, bytes: 4, write: (to: Buffer, value: number) => to.writeFloatLE(value) },
  bool: {
    number: 7,
    bytes: 1,
    write: (to: Buffer, value: boolean) => to.writeUInt8(value ? 1 : 0),
  },
  u64: {
    number: 10,
    bytes: 8,
    write: (to: Buffer, value: number) => to.writeBigUInt64LE(BigInt(value)),
  },
  f64: { number: 12, bytes: 8, write: (to: Buffer, value: number) => to.writeDoubleLE(value) },
} as const;

const stringNumber = 8;
const arrayNumber = 9;

type NumberType = Exclude<keyof typeof scalars, 'bool'>;

/**
 * A metadata value with its data type. For an array, `list` is the type of the items, which an
 * empty array would not show.
 */
export type TypedValue =
  | { readonly type: NumberType; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly list: NumberType; readonly value: readonly number[] }
  | { readonly list: 'bool'; readonly value: readonly boolean[] }
  | { readonly list: 'string'; readonly value: readonly string[] };

/** Creates an unsigned 32-bit integer. */
export const u32 = (value: number): TypedValue => ({ type: 'u32', value });
/** Creates a 32-bit floating-point number. */
export const f32 = (value: number): TypedValue => ({ type: 'f32', value });
/** Creates a boolean value. */
export const flag = (value: boolean): TypedValue => ({ type: 'bool', value });
/** Creates a string, which is stored as UTF-8. */
export const text = (value: string): TypedValue => ({ type: 'string', value });

/**
 * Encodes a value as it follows its key in the file: first the number of its type, then the value.
 */
export function valueBytes(typed: TypedValue): Buffer {
  if ('type' in typed) return Buffer.concat([u32Bytes(numberOf(typed.type)), itemBytes(typed)]);
  const head = [
    u32Bytes(arrayNumber),
    u32Bytes(numberOf(typed.list)),
    u64Bytes(typed.value.length),
  ];
  if (typed.list === 'string') return Buffer.concat([...head, ...typed.value.map(stringBytes)]);
  return Buffer.concat([...head, ...typed.value.map((item) => scalarBytes(typed.list, item))]);
}

const numberOf = (type: keyof typeof scalars | 'string'): number =>
  type === 'string' ? stringNumber : scalars[type].number;

const itemBytes = (typed: Extract<TypedValue, { type: unknown }>): Buffer =>
  typed.type === 'string' ? stringBytes(typed.value) : scalarBytes(typed.type, typed.value);

function scalarBytes(type: keyof typeof scalars, value: number | boolean): Buffer {
  const { bytes, write } = scalars[type];
  const buffer = Buffer.alloc(bytes);
  (write as (to: Buffer, value: number | boolean) => void)(buffer, value);
  return buffer;
}

export const u32Bytes = (value: number): Buffer => scalarBytes('u32', value);
export const u64Bytes = (value: number): Buffer => scalarBytes('u64', value);

/** Encodes a string: its length in bytes, as a 64-bit integer, then its UTF-8 bytes. */
export function stringBytes(value: string): Buffer {
  return Buffer.concat([u64Bytes(Buffer.byteLength(value)), Buffer.from(value)]);
}
