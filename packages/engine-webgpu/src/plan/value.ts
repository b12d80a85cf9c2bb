/** Values of a graph whose sizes are known. */
import type { DataType } from '@trinity-rft/engine-onnx/graph-runtime';
import type { Element } from '../kernels/kernel.js';
import { sizeOf } from '../kernels/loop.js';

export interface Value {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  /** The numbers, if the host knows them: constants, and numbers derived from shapes. */
  readonly host?: readonly number[];
  /** Index of the plan's storage; absent for numbers that no kernel reads. */
  storage?: number;
}

/** Element of a buffer with numbers of a type; undefined for types that have no kernels. */
export function elementOf(dtype: DataType): Element | undefined {
  if (dtype === 'float32') return 'f32';
  return dtype === 'int32' || dtype === 'int64' || dtype === 'bool' ? 'i32' : undefined;
}

/** Bytes of an array; a binding has at least 4. */
export const bytesOf = (shape: readonly number[]): number => 4 * Math.max(1, sizeOf(shape));

/** Index of an axis; a negative `axis` counts from the end. */
export const axisOf = (axis: number, { shape }: Pick<Value, 'shape'>): number =>
  axis < 0 ? axis + shape.length : axis;
