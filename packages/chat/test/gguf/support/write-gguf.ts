/** Writes small GGUF files, including invalid ones that the package's own writer refuses to write. */
import { writeFileSync } from 'node:fs';
import {
  f32,
  flag,
  stringBytes,
  text,
  u32,
  u32Bytes,
  u64Bytes,
  valueBytes,
} from '../../../src/gguf/file/typed-value.js';

type Value = number | boolean | string | readonly string[] | readonly number[] | readonly boolean[];

export interface GgufContent {
  readonly metadata: Readonly<Record<string, Value>>;
  /** Row-major shapes; the numbers are 0, or `values`. */
  readonly tensors?: Readonly<Record<string, readonly number[]>>;
  /** Numbers of the first tensor. @default zeros */
  readonly values?: readonly number[];
  /** Format number that the file states for all tensors. @default 0 */
  readonly type?: number;
}

export function writeGguf(path: string, content: GgufContent): string {
  const { metadata, tensors = {}, values = [], type = 0 } = content;
  const pairs = Object.entries(metadata);
  const entries = Object.entries(tensors);
  const parts = [
    Buffer.from('GGUF'),
    u32Bytes(3),
    u64Bytes(entries.length),
    u64Bytes(pairs.length),
    ...pairs.flatMap(([key, value]) => [stringBytes(key), typed(value)]),
  ];
  let [offset, end] = [0, 0];
  for (const [name, shape] of entries) {
    parts.push(
      stringBytes(name),
      u32Bytes(shape.length),
      ...shape.toReversed().map(u64Bytes),
      u32Bytes(type),
      u64Bytes(offset),
    );
    end = offset + 4 * shape.reduce((a, b) => a * b, 1);
    offset = Math.ceil(end / 32) * 32;
  }
  const header = Buffer.concat(parts);
  const padding = Buffer.alloc((32 - (header.length % 32)) % 32);
  const data = Buffer.alloc(end);
  for (const [i, value] of values.entries()) data.writeFloatLE(value, 4 * i);
  writeFileSync(path, Buffer.concat([header, padding, data]));
  return path;
}

function typed(value: Value): Buffer {
  if (typeof value === 'string') return valueBytes(text(value));
  if (typeof value === 'boolean') return valueBytes(flag(value));
  if (typeof value === 'number')
    return valueBytes(Number.isInteger(value) ? u32(value) : f32(value));
  const items: readonly (number | string | boolean)[] = value;
  if (items.every((item) => typeof item === 'string'))
    return valueBytes({ list: 'string', value: items });
  return valueBytes(
    items.every((item) => typeof item === 'boolean')
      ? { list: 'bool', value: items }
      : { list: 'f32', value: items as readonly number[] },
  );
}
