/** Data types of tensors, whose numbers are stored in blocks. */

export interface TensorType {
  /** Name in ggml, such as `Q4_K`. */
  readonly name: string;
  /** Number of elements in a block. */
  readonly blockLength: number;
  /** Size of a block in bytes. */
  readonly blockBytes: number;
  /** Decodes all blocks of `bytes` into `into`, starting at index `to`. */
  decode(bytes: Uint8Array, into: Float32Array, to: number): void;
  /**
   * Encodes the block at `values[from]` into `bytes`, starting at index `to`. Rounds as llama.cpp
   * does.
   */
  readonly encode?: (values: Float32Array, from: number, bytes: Uint8Array, to: number) => void;
  /** Access to the integers and scales of a block; undefined for floating-point numbers. */
  readonly levels?: LevelsOfBlock;
}

/**
 * Access to a block as runs of integers q_i that share a scale s: x_i = s (q_i - centre), or x_i =
 * s q_i + m if the run has an offset m.
 */
export interface LevelsOfBlock {
  /** Number of integers in a run. */
  readonly run: 16 | 32;
  /** Midpoint of the range of the integers: every q_i is in [0, 2 * centre). */
  readonly centre: 8 | 16 | 32 | 128;
  /** Writes all q_i of the block at `bytes[from]` into `into`, starting at index `to`. */
  write(bytes: Uint8Array, from: number, into: Uint8Array, to: number): void;
  /** Returns the scale s of run k. */
  scale(bytes: Uint8Array, from: number, k: number): number;
  /** Returns the offset m of run k. @default no offsets */
  readonly offset?: (bytes: Uint8Array, from: number, k: number) => number;
}

const scratch = new Uint8Array(256);

/** Defines a quantised data type, whose `decode` follows from its integers and scales. */
export function levelsType(
  type: Omit<TensorType, 'decode'> & { readonly levels: LevelsOfBlock },
): TensorType {
  const { blockLength, blockBytes, levels } = type;
  const { run, centre, offset } = levels;
  return {
    ...type,
    decode(bytes, into, start) {
      let to = start;
      for (let from = 0; from < bytes.length; from += blockBytes, to += blockLength) {
        levels.write(bytes, from, scratch, 0);
        for (let k = 0; k * run < blockLength; k++) {
          const scale = levels.scale(bytes, from, k);
          const end = (k + 1) * run;
          if (offset) {
            const m = offset(bytes, from, k);
            for (let i = k * run; i < end; i++) into[to + i] = scale * scratch[i]! + m;
          } else for (let i = k * run; i < end; i++) into[to + i] = scale * (scratch[i]! - centre);
        }
      }
    },
  };
}
