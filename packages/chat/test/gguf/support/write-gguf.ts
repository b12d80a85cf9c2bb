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

type Value = number | boolean | string | readonly string[] | readonly number[];

export interface GgufContent {
  readonly metadata: Readonly<Record<string, Value>>;
  /** Row-major shapes; the numbers are 0. */
  readonly tensors?: Readonly<Record<string, readonly number[]>>;
  /** Format number that the file states for all tensors. @default 0 */
  readonly type?: number;
}

export function writeGguf(path: string, { metadata, tensors = {}, type = 0 }: GgufContent): string {
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
  writeFileSync(path, Buffer.concat([header, padding, Buffer.alloc(end)]));
  return path;
}

function typed(value: Value): Buffer {
  if (typeof value === 'string') return valueBytes(text(value));
  if (typeof value === 'boolean') return valueBytes(flag(value));
  if (typeof value === 'number')
    return valueBytes(Number.isInteger(value) ? u32(value) : f32(value));
  const isText = (item: number | string): item is string => typeof item === 'string';
  const items: readonly (number | string)[] = value;
  return valueBytes(
    items.every(isText)
      ? { list: 'string', value: items }
      : { list: 'f32', value: value as readonly number[] },
  );
}
