/** Operators on shapes: the host computes them, or their result is another view of the same numbers. */
import { dataTypes, type DataType, type NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { elementwise } from '../kernels/elementwise.js';
import { sizeOf } from '../kernels/loop.js';
import { integerOf } from './attributes.js';
import { unsupportedNode, type PlanBuilder } from './builder.js';
import { elementOf, type Value } from './value.js';

/** Computes the outputs of a node. */
export type Operator = (builder: PlanBuilder, node: NodeRecord) => readonly Value[];

/** @throws EngineError if an operand is omitted */
export function operandsOf(
  builder: PlanBuilder,
  node: NodeRecord,
  count: number,
): readonly Value[] {
  return Array.from({ length: count }, (_, i) => {
    const value = builder.operand(node, i);
    if (value) return value;
    throw unsupportedNode(node, `a node without operand ${i}`);
  });
}

/** Numbers that a plan depends on. @throws EngineError if only the device knows the numbers */
export function numbersOf(node: NodeRecord, value: Value): readonly number[] {
  if (value.host) return value.host;
  throw unsupportedNode(node, 'sizes, axes or bounds that are computed on the device');
}

export const hostIntegers = (host: readonly number[]): Value => ({
  dtype: 'int64',
  shape: [host.length],
  host,
});

const shape: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1);
  return [hostIntegers(a!.shape)];
};

/** Reshape. 0 keeps the size at the same index, and -1 stands for the size that the other sizes leave. */
const reshape: Operator = (builder, node) => {
  const [a, target] = operandsOf(builder, node, 2);
  const sizes = numbersOf(node, target!).map((dim, i) => (dim === 0 ? a!.shape[i]! : dim));
  const known = sizes.reduce((size, dim) => (dim === -1 ? size : size * dim), 1);
  const rest = known === 0 ? 0 : sizeOf(a!.shape) / known;
  const found = sizes.map((dim) => (dim === -1 ? rest : dim));
  if (sizeOf(found) !== sizeOf(a!.shape))
    throw unsupportedNode(node, `a reshape of [${a!.shape.join(', ')}] to [${sizes.join(', ')}]`);
  return [builder.alias(a!, found)];
};

const squeeze: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1);
  if (builder.operand(node, 1)) throw unsupportedNode(node, 'a squeeze of some axes only');
  return [
    builder.alias(
      a!,
      a!.shape.filter((dim) => dim !== 1),
    ),
  ];
};

const identity: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1);
  return [builder.alias(a!, a!.shape)];
};

/** The type that a node casts to. */
export const castTarget = (node: NodeRecord): DataType | undefined =>
  (Object.keys(dataTypes) as DataType[]).find(
    (name) => dataTypes[name] === integerOf(node, 'to', 0),
  );

const cast: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1);
  const dtype = castTarget(node)!;
  const [from, to] = [elementOf(a!.dtype)!, elementOf(dtype)!];
  if (dtype === 'bool' && a!.dtype !== 'bool')
    throw unsupportedNode(node, `a cast of ${a!.dtype} to bool`);
  if (a!.host) {
    const host = to === 'i32' ? a!.host.map(Math.trunc) : a!.host;
    return [{ dtype, shape: a!.shape, host }];
  }
  if (from === to) return [builder.alias(a!, a!.shape, dtype)];
  const y = builder.fresh(dtype, a!.shape);
  const loop = { dims: [sizeOf(a!.shape)], strides: [[1]] };
  builder.run(elementwise(`Cast to ${to}`, [from], loop), [a!], [y]);
  return [y];
};

const rangeOf: Operator = (builder, node) => {
  const [start, limit, step] = operandsOf(builder, node, 3).map((a) => numbersOf(node, a)[0]!);
  if (start !== 0 || step !== 1) throw unsupportedNode(node, 'a range other than 0, 1, 2 ...');
  const host = Array.from({ length: limit! }, (_, i) => i);
  return [{ dtype: 'int32', shape: [limit!], host }];
};

export const shapeOperators: Readonly<Record<string, Operator>> = {
  Shape: shape,
  Reshape: reshape,
  Squeeze: squeeze,
  Identity: identity,
  Cast: cast,
  Range: rangeOf,
};
