/** Arrays in the memory of the process. ONNX Runtime uses them as tensors without copies. */
import { InvariantError } from '@trinity-rft/core';
import { Tensor } from 'onnxruntime-node';

import type { ArraySet, DataType, DeviceArray, HostArray, NamedShape } from './graph-runtime.js';

export class OnnxArray implements DeviceArray {
  readonly tensor: Tensor;

  constructor(tensor: Tensor) {
    this.tensor = tensor;
  }

  get dtype(): DataType {
    return this.tensor.type as DataType;
  }

  get shape(): readonly number[] {
    return this.tensor.dims;
  }

  /** No-op: the garbage collector frees the array. */
  free(): void {}
}

/** Arrays that are views of one flat array. */
export class OnnxSet implements ArraySet {
  readonly flat: Float32Array;
  readonly arrays: Readonly<Record<string, OnnxArray>>;
  /** Number of elements of each array. */
  readonly sizes: readonly number[];

  constructor(shapes: readonly NamedShape[], flat: Float32Array) {
    this.flat = flat;
    this.sizes = shapes.map(({ shape }) => sizeOf(shape));
    const arrays: Record<string, OnnxArray> = {};
    let offset = 0;
    for (const [i, { name, shape }] of shapes.entries()) {
      const end = offset + this.sizes[i]!;
      arrays[name] = floatArray(flat.subarray(offset, end), shape);
      offset = end;
    }
    this.arrays = arrays;
  }

  /** No-op: the garbage collector frees the arrays. */
  free(): void {}
}

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export const floatArray = (data: Float32Array, shape: readonly number[]): OnnxArray =>
  new OnnxArray(new Tensor('float32', data, shape));

export const tensorOf = (array: DeviceArray | HostArray): Tensor =>
  'data' in array ? new Tensor(array.dtype, array.data, array.shape) : own(array).tensor;

export const floatsOf = (array: DeviceArray | HostArray): Float32Array =>
  ('data' in array ? array.data : own(array).tensor.data) as Float32Array;

/**
 * Checks that an array belongs to this runtime and returns it with the runtime's type.
 * @throws InvariantError when another runtime created the array
 */
export function own(array: DeviceArray): OnnxArray {
  if (array instanceof OnnxArray) return array;
  throw new InvariantError('An array of another runtime was given to ONNX Runtime.');
}

export const flatOf = (set: ArraySet): Float32Array => ownSet(set).flat;

/**
 * Checks that a set belongs to this runtime and returns it with the runtime's type.
 * @throws InvariantError when another runtime created the set
 */
export function ownSet(set: ArraySet): OnnxSet {
  if (set instanceof OnnxSet) return set;
  throw new InvariantError('Arrays of another runtime were given to ONNX Runtime.');
}
