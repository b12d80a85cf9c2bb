/**
 * Operators on shapes, and casts. Either the host computes the result, or the result is a view of
 * the same elements. Only a cast between `f32` and `i32` may need a kernel.
 */
import { dataTypes, type DataType, type NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { elementwise } from '../kernels/elementwise.js';
import { sizeOf } from '../kernels/loop.js';
import type { Operator } from './step.js';
import { elementOf, type Value } from './value.js';

export const hostIntegers = (host: readonly number[]): Value => ({
  dtype: 'int64',
  shape: [host.length],
  host,
});

const shape: Operator = (step) => [hostIntegers(step.operand(0).shape)];

/**
 * Plans a reshape. In the target shape, 0 keeps the size of the same dimension, and -1 is inferred
 * from the other sizes.
 */
const reshape: Operator = (step) => {
  const a = step.operand(0);
  const sizes = step.numbers(1).map((dim, i) => (dim === 0 ? a.shape[i]! : dim));
  const known = sizes.reduce((size, dim) => (dim === -1 ? size : size * dim), 1);
  const rest = known === 0 ? 0 : sizeOf(a.shape) / known;
  const found = sizes.map((dim) => (dim === -1 ? rest : dim));
  if (sizeOf(found) !== sizeOf(a.shape))
    step.fail(`a reshape of [${a.shape.join(', ')}] to [${sizes.join(', ')}]`);
  return [step.builder.alias(a, found)];
};

const squeeze: Operator = (step) => {
  const a = step.operand(0);
  if (step.optional(1)) step.fail('a squeeze of some axes only');
  const dims = a.shape.filter((dim) => dim !== 1);
  return [step.builder.alias(a, dims)];
};

const identity: Operator = (step) => [step.operand(0)];

/** Returns the data type that a `Cast` node converts to, or undefined if it is not known. */
export const castTarget = ({ attributes }: NodeRecord): DataType | undefined =>
  (Object.keys(dataTypes) as DataType[]).find((name) => dataTypes[name] === attributes['to']);

const cast: Operator = (step) => {
  const a = step.operand(0);
  const dtype = castTarget(step.node)!;
  const [from, to] = [elementOf(a.dtype)!, elementOf(dtype)!];
  if (dtype === 'bool' && a.dtype !== 'bool') step.fail(`a cast of ${a.dtype} to bool`);
  if (a.host)
    return [{ dtype, shape: a.shape, host: to === 'i32' ? a.host.map(Math.trunc) : a.host }];
  if (from === to) return [step.builder.alias(a, a.shape, dtype)];
  const loop = { dims: [sizeOf(a.shape)], strides: [[1]] };
  return [step.builder.computed(dtype, a.shape, elementwise(`Cast to ${to}`, [from], loop), [a])];
};

const range: Operator = (step) => {
  const [start, limit, size] = [0, 1, 2].map((i) => step.numbers(i)[0]!);
  if (start !== 0 || size !== 1) step.fail('a range other than 0, 1, 2 ...');
  return [{ dtype: 'int32', shape: [limit!], host: Array.from({ length: limit! }, (_, i) => i) }];
};

export const shapeOperators: Readonly<Record<string, Operator>> = {
  Shape: shape,
  Reshape: reshape,
  Squeeze: squeeze,
  Identity: identity,
  Cast: cast,
  Range: range,
};
