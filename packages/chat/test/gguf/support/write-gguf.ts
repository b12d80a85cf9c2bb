/** Writes small GGUF files whose tensors are float32. */
import { writeFileSync } from 'node:fs';

type Value = number | boolean | string | readonly string[] | readonly number[];

export interface GgufContent {
  readonly metadata: Readonly<Record<string, Value>>;
  /** Row-major shapes; the numbers are 0. */
  readonly tensors?: Readonly<Record<string, readonly number[]>>;
  /** Number of the format that the file claims for all tensors. @default 0 */
  readonly type?: number;
}

export function writeGguf(path: string, { metadata, tensors = {}, type = 0 }: GgufContent): string {
  const pairs = Object.entries(metadata);
  const entries = Object.entries(tensors);
  const parts = [
    Buffer.from('GGUF'),
    u32(3),
    u64(entries.length),
    u64(pairs.length),
    ...pairs.flatMap(([key, value]) => [text(key), ...typed(value)]),
  ];
  let [offset, end] = [0, 0];
  for (const [name, shape] of entries) {
    parts.push(
      text(name),
      u32(shape.length),
      ...shape.toReversed().map(u64),
      u32(type),
      u64(offset),
    );
    end = offset + 4 * shape.reduce((a, b) => a * b, 1);
    offset = Math.ceil(end / 32) * 32;
  }
  const header = Buffer.concat(parts);
  const padding = Buffer.alloc((32 - (header.length % 32)) % 32);
  writeFileSync(path, Buffer.concat([header, padding, Buffer.alloc(end)]));
  return path;
}

function typed(value: Value): readonly Buffer[] {
  if (typeof value === 'string') return [u32(8), text(value)];
  if (typeof value === 'boolean') return [u32(7), Buffer.from([value ? 1 : 0])];
  if (typeof value === 'number')
    return Number.isInteger(value) ? [u32(4), u32(value)] : [u32(6), f32(value)];
  if (value.every((item) => typeof item === 'string'))
    return [u32(9), u32(8), u64(value.length), ...value.map(text)];
  return [u32(9), u32(6), u64(value.length), ...(value as readonly number[]).map(f32)];
}

const number = (bytes: number, write: (buffer: Buffer) => void): Buffer => {
  const buffer = Buffer.alloc(bytes);
  write(buffer);
  return buffer;
};
const u32 = (value: number): Buffer => number(4, (to) => to.writeUInt32LE(value));
const u64 = (value: number): Buffer => number(8, (to) => to.writeBigUInt64LE(BigInt(value)));
const f32 = (value: number): Buffer => number(4, (to) => to.writeFloatLE(value));
const text = (value: string): Buffer =>
  Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
