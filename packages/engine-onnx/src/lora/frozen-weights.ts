/** The frozen weights of a model with adapters. */
import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

import type { DeviceArrays, Numbers } from '../runtime/graph-runtime.js';
import { bytesOf } from '../runtime/host-arrays.js';

/** A range of the flat array of all parameters. */
interface Range {
  readonly offset: number;
  readonly size: number;
}

export interface FrozenWeights {
  /** The parameters as arrays of the graph runtime, if the runtime holds them. */
  readonly arrays?: DeviceArrays;
  /**
   * True if the array that {@link all} returns may also be used by another model. The caller must
   * then not write to the array.
   */
  readonly isShared: boolean;
  part(range: Range): Float32Array;
  all(): Float32Array;
}

/**
 * Stores the weights as bfloat16, which halves their memory. Returns undefined if any weight cannot
 * be represented exactly in bfloat16. In most public models, all weights can.
 */
export function packedWeights(flat: Float32Array): FrozenWeights | undefined {
  const halves = upperHalves(flat);
  if (!halves) return undefined;
  const part = ({ offset, size }: Range): Float32Array => {
    const bits = new Uint32Array(size);
    for (let i = 0; i < size; i++) bits[i] = halves[offset + i]! << 16;
    return new Float32Array(bits.buffer);
  };
  return { isShared: false, part, all: () => part({ offset: 0, size: halves.length }) };
}

/**
 * Keeps the weights in a float32 array.
 * @param flat the array, which is not copied
 */
export const plainWeights = (flat: Float32Array, arrays: DeviceArrays): FrozenWeights => ({
  arrays,
  isShared: true,
  part: ({ offset, size }) => flat.subarray(offset, offset + size),
  all: () => flat,
});

/**
 * Returns the SHA-256 of the first `size` weights as float32, in hexadecimal. This takes seconds to
 * minutes; the thread does other work in between.
 */
export function digestOfFrozen(weights: FrozenWeights, size: number): Promise<string> {
  const most = mostHashed / Float32Array.BYTES_PER_ELEMENT;
  function* parts() {
    for (let offset = 0; offset < size; offset += most)
      yield weights.part({ offset, size: Math.min(most, size - offset) });
  }
  return digestOf(parts());
}

/**
 * Returns the SHA-256 of float32 weights, in hexadecimal. The thread does other work in between.
 * @param parts the weights, one part after another
 */
export async function digestOf(
  parts: Iterable<Float32Array> | AsyncIterable<Float32Array>,
): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of parts) await addToHash(hash, part);
  return hash.digest('hex');
}

/** Maximum number of bytes that are hashed at once, which takes 2 to 20 ms. */
const mostHashed = 2 ** 22;

/** Adds the bytes of an array to a hash. The thread does other work in between. */
export async function addToHash(hash: Hash, numbers: Numbers): Promise<void> {
  const bytes = bytesOf(numbers);
  for (let at = 0; at < bytes.length; at += mostHashed) {
    hash.update(bytes.subarray(at, at + mostHashed));
    await setImmediate();
  }
}

/** Returns the upper 16 bits of each float32, or undefined if any lower half is not 0. */
function upperHalves(flat: Float32Array): Uint16Array | undefined {
  const bits = new Uint32Array(flat.buffer, flat.byteOffset, flat.length);
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & 0xffff) !== 0) return undefined;
  const halves = new Uint16Array(bits.length);
  for (let i = 0; i < bits.length; i++) halves[i] = bits[i]! >>> 16;
  return halves;
}
