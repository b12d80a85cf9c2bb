/** Tensors in quantised form: integers with scales. */
import type { TensorType } from './types.js';

/**
 * Tensor of blocks in quantised form: x = scale (q - 2^(bits - 1)), plus the block's offset if the
 * data type has offsets.
 */
export interface TensorLevels {
  readonly bits: 4 | 8;
  /** Number of integers in a block. */
  readonly length: 16 | 32;
  /**
   * Integers q. With 8 bits, each byte is one integer. With 4 bits, each byte holds two integers of
   * a block: one of its first half in the low bits, one of its second half in the high bits.
   */
  readonly integers: Uint8Array;
  /** Scale of each block. */
  readonly scales: Float32Array;
  readonly offsets?: Float32Array;
}

const bitsOf = ({ centre }: NonNullable<TensorType['levels']>): 4 | 8 => (centre === 8 ? 4 : 8);

/** Creates a tensor with room for `numbers` integers, all zero. */
export function emptyLevels(
  levels: NonNullable<TensorType['levels']>,
  numbers: number,
): TensorLevels {
  const bits = bitsOf(levels);
  const blocks = numbers / levels.run;
  return {
    bits,
    length: levels.run,
    integers: new Uint8Array((numbers * bits) / 8),
    scales: new Float32Array(blocks),
    ...(levels.offset && { offsets: new Float32Array(blocks) }),
  };
}

const scratch = new Uint8Array(256);

/**
 * Copies the block at `bytes[from]` into a tensor, whose element `at` is the first of the block.
 */
export function putLevels(
  { blockLength, levels }: Required<Pick<TensorType, 'blockLength' | 'levels'>>,
  bytes: Uint8Array,
  from: number,
  { bits, integers, scales, offsets }: TensorLevels,
  at: number,
): void {
  const { centre, run, offset } = levels;
  levels.write(bytes, from, scratch, 0);
  const half = run / 2;
  if (bits === 4)
    for (let k = 0; k < blockLength; k += run)
      for (let i = k; i < k + half; i++)
        integers[(at + k) / 2 + i - k] = scratch[i]! | (scratch[i + half]! << 4);
  else for (let i = 0; i < blockLength; i++) integers[at + i] = scratch[i]! + 128 - centre;
  for (let k = 0; k * run < blockLength; k++) {
    const block = at / run + k;
    const scale = (scales[block] = levels.scale(bytes, from, k));
    // The stored integers count from the centre: s q + m = s (q - centre) + (m + s centre).
    if (offsets && offset) offsets[block] = offset(bytes, from, k) + scale * centre;
  }
}
