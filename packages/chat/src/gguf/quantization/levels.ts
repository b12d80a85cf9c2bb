/** Tensors in quantised form: integers with scales. */
import type { TensorType } from './types.js';

/** Format of a block-quantised tensor in memory. */
export interface LevelsFormat {
  readonly bits: 4 | 8;
  /** Number of integers in a block. */
  readonly length: 16 | 32;
  readonly hasOffsets: boolean;
}

/**
 * Tensor of blocks in quantised form: x = scale (q - 2^(bits - 1)), plus the block's offset if the
 * data type has offsets.
 */
export interface TensorLevels extends LevelsFormat, TensorScales {
  /**
   * Integers q. With 8 bits, each byte is one integer. With 4 bits, each byte holds two integers of
   * a block: one of its first half in the low bits, one of its second half in the high bits.
   */
  readonly integers: Uint8Array;
}

export interface TensorScales {
  /** Scale of each block. */
  readonly scales: Float32Array;
  readonly offsets?: Float32Array;
}

type QuantizedType = Required<Pick<TensorType, 'blockLength' | 'levels'>>;

export const levelsFormat = ({ centre, run, offset }: QuantizedType['levels']): LevelsFormat => ({
  bits: centre === 8 ? 4 : 8,
  length: run,
  hasOffsets: offset !== undefined,
});

/** Returns room for the integers of `elements` elements. */
export const emptyIntegers = (levels: QuantizedType['levels'], elements: number): Uint8Array =>
  new Uint8Array((elements * levelsFormat(levels).bits) / 8);

/** Returns room for the scales and offsets of `elements` elements. */
export function emptyScales(
  { run, offset }: QuantizedType['levels'],
  elements: number,
): TensorScales {
  const blocks = elements / run;
  return {
    scales: new Float32Array(blocks),
    ...(offset && { offsets: new Float32Array(blocks) }),
  };
}

const scratch = new Uint8Array(256);

/**
 * Writes the integers of the block at `bytes[from]`, which begins at element `at` of the tensor.
 */
export function putIntegers(
  { blockLength, levels }: QuantizedType,
  bytes: Uint8Array,
  from: number,
  integers: Uint8Array,
  at: number,
): void {
  const { centre, run } = levels;
  levels.write(bytes, from, scratch, 0);
  const half = run / 2;
  if (levelsFormat(levels).bits === 4)
    for (let k = 0; k < blockLength; k += run)
      for (let i = k; i < k + half; i++)
        integers[(at + k) / 2 + i - k] = scratch[i]! | (scratch[i + half]! << 4);
  else for (let i = 0; i < blockLength; i++) integers[at + i] = scratch[i]! + 128 - centre;
}

/** Writes the scales and offsets of a block, as {@link putIntegers} does. */
export function putScales(
  { blockLength, levels }: QuantizedType,
  bytes: Uint8Array,
  from: number,
  { scales, offsets }: TensorScales,
  at: number,
): void {
  const { centre, run, offset } = levels;
  for (let k = 0; k * run < blockLength; k++) {
    const block = at / run + k;
    const scale = (scales[block] = levels.scale(bytes, from, k));
    // The stored integers count from the centre: s q + m = s (q - centre) + (m + s centre).
    if (offsets && offset) offsets[block] = offset(bytes, from, k) + scale * centre;
  }
}
