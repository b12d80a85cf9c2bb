/** Values of a graph, with known shapes. */
import type { DataType } from '@trinity-rft/engine-onnx/graph-runtime';
import type { Element } from '../kernels/kernel.js';
import { sizeOf } from '../kernels/loop.js';

export interface Value {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  /**
   * Elements of the value, if the host knows them because they are constant or derived from shapes.
   */
  readonly host?: readonly number[];
  /** Index of the storage in the plan; absent if no kernel reads the value. */
  storage?: number;
}

/**
 * Returns the element type with which buffers store a data type, or undefined if no kernel supports
 * the data type.
 */
export function elementOf(dtype: DataType): Element | undefined {
  if (dtype === 'float32') return 'f32';
  return dtype === 'int32' || dtype === 'int64' || dtype === 'bool' ? 'i32' : undefined;
}

/**
 * Returns the size of an array's buffer in bytes, which is at least 4, the minimum size of a
 * binding.
 */
export const bytesOf = (shape: readonly number[]): number => 4 * Math.max(1, sizeOf(shape));

/** Returns the non-negative index of an axis. A negative `axis` counts from the end. */
export const axisOf = (axis: number, { shape }: Pick<Value, 'shape'>): number =>
  axis < 0 ? axis + shape.length : axis;
