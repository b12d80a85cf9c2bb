/** Arrays in buffers of a device. */
import { InvariantError } from '@trinity-rft/core';
import type {
  DataType,
  DeviceArray,
  HostArray,
  Numbers,
} from '@trinity-rft/engine-onnx/graph-runtime';
import { sizeOf } from '../kernels/loop.js';
import type { BufferPart } from './commands.js';
import type { Memory } from './memory.js';

export class BufferArray implements DeviceArray, BufferPart {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly size: number;
  readonly bytes: number;
  #memory: Memory | undefined;

  /** @param memory pool to which the buffer returns; undefined for a view */
  constructor(
    { dtype, shape }: Pick<DeviceArray, 'dtype' | 'shape'>,
    buffer: GPUBuffer,
    memory: Memory | undefined,
    offset = 0,
  ) {
    this.dtype = dtype;
    this.shape = shape;
    this.buffer = buffer;
    this.offset = offset;
    this.size = sizeOf(shape);
    this.bytes = 4 * this.size;
    this.#memory = memory;
  }

  /** Index of the array's first element in {@link whole}. */
  get start(): number {
    return this.offset / 4;
  }

  /**
   * Range of the buffer from offset 0 to the end of the array, for bindings, whose offsets must be
   * aligned.
   */
  get whole(): BufferPart {
    return { buffer: this.buffer, offset: 0, bytes: this.offset + this.bytes };
  }

  free(): void {
    this.#memory?.give(this.buffer);
    this.#memory = undefined;
  }
}

/**
 * Returns the array as a {@link BufferArray}.
 * @throws InvariantError if another runtime created the array
 */
export function ownArray(array: DeviceArray): BufferArray {
  if (array instanceof BufferArray) return array;
  throw new InvariantError('An array of another runtime cannot be used on a WebGPU device.');
}

/**
 * Returns the array as a {@link BufferArray}, after a check of its size.
 * @throws InvariantError if another runtime created the array, or its size differs from that of the
 * shape
 */
export function ofSize(array: DeviceArray, shape: readonly number[], what = 'array'): BufferArray {
  const own = ownArray(array);
  if (own.size === sizeOf(shape)) return own;
  throw new InvariantError(
    `The ${what} has the shape [${shape.join(', ')}]; the array given for it has [${array.shape.join(', ')}].`,
  );
}

/** Returns the elements of an array in the representation that buffers use: float32 or int32. */
export function storedNumbers({ data }: HostArray): Float32Array | Int32Array {
  return data instanceof Float32Array || data instanceof Int32Array ? data : int32Of(data);
}

/** Converts numbers to int32. @throws InvariantError if a number is not a 32-bit integer */
export const int32Of = (numbers: Iterable<number | bigint>): Int32Array =>
  Int32Array.from(numbers, (value) => {
    const number = Number(value);
    if (number === (number | 0)) return number;
    throw new InvariantError(`The number ${value} does not fit into 32 bits.`);
  });

/** Converts the bytes of a buffer to numbers of a data type. */
export function readNumbers(dtype: DataType, bytes: ArrayBuffer): Numbers {
  if (dtype === 'float32') return new Float32Array(bytes);
  const integers = new Int32Array(bytes);
  if (dtype === 'int64') return BigInt64Array.from(integers, BigInt);
  return dtype === 'bool' ? Uint8Array.from(integers) : integers;
}
