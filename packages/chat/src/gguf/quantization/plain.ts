/** Data types without quantisation: a block is one number. */
import { bfloatAt, bfloatOfNumber, halfAt, halfOfNumber, putHalf } from './half.js';
import type { TensorType } from './types.js';

const word = new Uint8Array(4);
const float = new Float32Array(word.buffer);

export const f32: TensorType = {
  name: 'F32',
  blockLength: 1,
  blockBytes: 4,
  decode: (bytes, into, to) =>
    new Uint8Array(into.buffer, into.byteOffset + 4 * to, bytes.length).set(bytes),
  encode(values, from, bytes, to) {
    float[0] = values[from]!;
    for (let i = 0; i < 4; i++) bytes[to + i] = word[i]!;
  },
};

export const f16: TensorType = {
  name: 'F16',
  blockLength: 1,
  blockBytes: 2,
  decode(bytes, into, to) {
    for (let i = 0; 2 * i < bytes.length; i++) into[to + i] = halfAt(bytes, 2 * i);
  },
  encode: (values, from, bytes, to) => putHalf(bytes, to, halfOfNumber(values[from]!)),
};

export const bf16: TensorType = {
  name: 'BF16',
  blockLength: 1,
  blockBytes: 2,
  decode(bytes, into, to) {
    for (let i = 0; 2 * i < bytes.length; i++) into[to + i] = bfloatAt(bytes, 2 * i);
  },
  encode: (values, from, bytes, to) => putHalf(bytes, to, bfloatOfNumber(values[from]!)),
};
