/** How numbers are stored in blocks. */

export interface TensorType {
  /** ggml's name: `Q4_K`. */
  readonly name: string;
  /** Numbers in a block. */
  readonly blockLength: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
  /** Decodes the block at `bytes[from]` to `into[to]` and after. */
  decode(bytes: Uint8Array, from: number, into: Float32Array, to: number): void;
  /** Encodes the block at `values[from]` to `bytes[to]` and after, rounding as llama.cpp does. */
  readonly encode?: (values: Float32Array, from: number, bytes: Uint8Array, to: number) => void;
}
