/** Small GGUF files of random blocks in any format, including formats that the repository cannot write. */
import { writeFileSync } from 'node:fs';

import { createRandom, type Random } from '@trinity-rft/core';
import { tensorTypes } from '@trinity-rft/chat/gguf';
import { halfOfNumber } from '@trinity-rft/chat/internal';

const sizes = { hidden: 256, inner: 512, layers: 2, heads: 4, kvHeads: 2, vocabulary: 96 } as const;

/** Places of 16-bit scales in a block, and their largest value; all other bytes may be anything. */
const scales: Readonly<Record<string, readonly (readonly [at: number, most: number])[]>> = {
  F32: [],
  F16: [[0, 0.2]],
  BF16: [],
  Q4_0: [[0, 0.02]],
  Q4_1: [
    [0, 0.02],
    [2, -0.15],
  ],
  Q5_0: [[0, 0.01]],
  Q5_1: [
    [0, 0.01],
    [2, -0.15],
  ],
  Q8_0: [[0, 0.001]],
  Q4_K: [
    [0, 0.0004],
    [2, 0.003],
  ],
  Q5_K: [
    [0, 0.0002],
    [2, 0.003],
  ],
  Q6_K: [[208, 0.0001]],
};

/** Formats that {@link writeRandomGguf} writes. */
export const randomFormats = Object.keys(scales).filter((name) => name.startsWith('Q'));

/**
 * A model of llama, whose queries and keys llama.cpp reorders.
 * @param formatOf format of a matrix by its name in the file
 * @param ownHead false for a head that is the embedding matrix
 */
export function writeRandomGguf(
  path: string,
  formatOf: (name: string) => string,
  ownHead = false,
): void {
  const random = createRandom(7);
  const { hidden, inner, layers, heads, kvHeads, vocabulary } = sizes;
  const keys = (hidden / heads) * kvHeads;
  const shapes: (readonly [string, readonly number[]])[] = [
    ['token_embd.weight', [vocabulary, hidden]],
    ['output_norm.weight', [hidden]],
  ];
  if (ownHead) shapes.push(['output.weight', [vocabulary, hidden]]);
  for (let layer = 0; layer < layers; layer++)
    for (const [part, shape] of Object.entries({
      attn_norm: [hidden],
      attn_q: [hidden, hidden],
      attn_k: [keys, hidden],
      attn_v: [keys, hidden],
      attn_output: [hidden, hidden],
      ffn_norm: [hidden],
      ffn_gate: [inner, hidden],
      ffn_up: [inner, hidden],
      ffn_down: [hidden, inner],
    }))
      shapes.push([`blk.${layer}.${part}.weight`, shape]);
  const metadata: readonly (readonly [string, string | number])[] = [
    ['general.architecture', 'llama'],
    ['llama.block_count', layers],
    ['llama.embedding_length', hidden],
    ['llama.feed_forward_length', inner],
    ['llama.attention.head_count', heads],
    ['llama.attention.head_count_kv', kvHeads],
    ['llama.attention.layer_norm_rms_epsilon', 1e-5],
    ['llama.context_length', 256],
  ];
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, shape] of shapes) {
    const format = shape.length === 1 ? 'F32' : formatOf(name);
    const [number, bytes] = randomTensor(random, format, shape);
    infos.push(
      text(name),
      u32(shape.length),
      ...shape.toReversed().map(u64),
      u32(number),
      u64(offset),
    );
    data.push(bytes, Buffer.alloc(-bytes.length & 31));
    offset += (bytes.length + 31) & ~31;
  }
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(shapes.length),
    u64(metadata.length),
    ...metadata.flatMap(([key, value]) => [text(key), ...valueOf(value)]),
    ...infos,
  ]);
  writeFileSync(path, Buffer.concat([header, Buffer.alloc(-header.length & 31), ...data]));
}

function randomTensor(
  random: Random,
  format: string,
  shape: readonly number[],
): readonly [number, Buffer] {
  const numbers = shape.reduce((product, n) => product * n, 1);
  const found = [...tensorTypes].find(([, { name }]) => name === format);
  if (!found) throw new Error(`${format} is no format.`);
  const [number, { blockLength, blockBytes }] = found;
  const bytes = Buffer.from({ length: (numbers / blockLength) * blockBytes } as ArrayLike<number>);
  if (format === 'F32') {
    for (let i = 0; i < numbers; i++) bytes.writeFloatLE(1 + 0.2 * random.normal(), 4 * i);
    return [number, bytes];
  }
  for (let i = 0; i < bytes.length; i++) bytes[i] = random.integer(256);
  for (let at = 0; at < bytes.length; at += blockBytes)
    for (const [place, most] of scales[format] ?? []) {
      const sign = format === 'F16' && random.next() < 0.5 ? -1 : 1;
      bytes.writeUInt16LE(halfOfNumber(sign * most * (0.3 + 0.7 * random.next())), at + place);
    }
  // Exponents of bfloat16 that give numbers from 0.004 to 0.06.
  if (format === 'BF16')
    for (let i = 1; i < bytes.length; i += 2)
      bytes[i] = (bytes[i]! & 0x80) | 0x3c | (bytes[i]! & 1);
  return [number, bytes];
}

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([u64(value.length), Buffer.from(value)]);

/** Types of metadata: 8 text, 4 whole number, 6 number. */
function valueOf(value: string | number): readonly Buffer[] {
  if (typeof value === 'string') return [u32(8), text(value)];
  if (Number.isInteger(value)) return [u32(4), u32(value)];
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return [u32(6), bytes];
}
