/** Copies and concatenates values by strides. */
import type { DataType } from '@trinity-rft/engine-onnx/graph-runtime';
import { sizeOf, stridesOf } from '../kernels/loop.js';
import { copy } from '../kernels/moves.js';
import type { PlanBuilder } from './builder.js';
import { elementOf, type Value } from './value.js';

/** Copies elements of a value into a new value, by strides. */
export function copied(
  builder: PlanBuilder,
  a: Value,
  dims: readonly number[],
  from: readonly number[],
  fromStart = 0,
): Value {
  const call = copy(elementOf(a.dtype)!, { dims, from, fromStart });
  return builder.computed(a.dtype, dims, call, [a]);
}

export function zeros(builder: PlanBuilder, dtype: DataType, dims: readonly number[]): Value {
  const repeated = dims.map(() => 0);
  return copied(builder, { dtype, shape: [], host: [0] }, dims, repeated);
}

/** Copies the value `a` into the value `y`, starting at element `toStart` of `y`. */
export function put(builder: PlanBuilder, a: Value, y: Value, toStart: number): void {
  if (sizeOf(a.shape) === 0) return;
  const [from, to] = [stridesOf(a.shape), stridesOf(y.shape)];
  builder.run(copy(elementOf(y.dtype)!, { dims: a.shape, from, to, toStart }), [a], [y]);
}

/** Concatenates values along an axis. */
export function joined(builder: PlanBuilder, parts: readonly Value[], axis: number): Value {
  const size = parts.reduce((sum, { shape }) => sum + shape[axis]!, 0);
  const y = builder.fresh(parts[0]!.dtype, parts[0]!.shape.with(axis, size));
  const stride = stridesOf(y.shape)[axis]!;
  let start = 0;
  for (const part of parts) {
    put(builder, part, y, start * stride);
    start += part.shape[axis]!;
  }
  return y;
}
