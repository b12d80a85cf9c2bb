/** Operators that move numbers, or read them by index. */
import type { DataType, NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { gather, scatterElements, topK } from '../kernels/indices.js';
import { sizeOf, stridesOf } from '../kernels/loop.js';
import { copy, triangle } from '../kernels/moves.js';
import { integerOf, integersOf } from './attributes.js';
import { unsupportedNode, type PlanBuilder } from './builder.js';
import { hostIntegers, numbersOf, operandsOf, type Operator } from './shape-operators.js';
import { axisOf, elementOf, type Value } from './value.js';

/** Copies part of a value, by strides, into a new value. */
export function copied(
  builder: PlanBuilder,
  a: Value,
  dims: readonly number[],
  from: readonly number[],
  fromStart = 0,
): Value {
  const y = builder.fresh(a.dtype, dims);
  builder.run(copy(elementOf(a.dtype)!, { dims, from, fromStart }), [a], [y]);
  return y;
}

/** Copies a whole value into part of another one. */
function put(builder: PlanBuilder, a: Value, y: Value, toStart: number): void {
  const [from, to] = [stridesOf(a.shape), stridesOf(y.shape)];
  if (sizeOf(a.shape) === 0) return;
  builder.run(copy(elementOf(y.dtype)!, { dims: a.shape, from, to, toStart }), [a], [y]);
}

export const zeros = (builder: PlanBuilder, dtype: DataType, dims: readonly number[]): Value =>
  copied(
    builder,
    { dtype, shape: [], host: [0] },
    dims,
    dims.map(() => 0),
  );

/** Values one after another along an axis. */
export function joined(builder: PlanBuilder, parts: readonly Value[], axis: number): Value {
  const size = parts.reduce((sum, part) => sum + part.shape[axis]!, 0);
  const y = builder.fresh(parts[0]!.dtype, parts[0]!.shape.with(axis, size));
  const stride = stridesOf(y.shape)[axis]!;
  let start = 0;
  for (const part of parts) {
    put(builder, part, y, start * stride);
    start += part.shape[axis]!;
  }
  return y;
}

const transpose: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1);
  const order = integersOf(node, 'perm');
  const strides = stridesOf(a!.shape);
  const [dims, from] = [order.map((axis) => a!.shape[axis]!), order.map((axis) => strides[axis]!)];
  return [copied(builder, a!, dims, from)];
};

const expand: Operator = (builder, node) => {
  const [a, target] = operandsOf(builder, node, 2);
  const asked = numbersOf(node, target!);
  const lead = asked.length - a!.shape.length;
  const strides = stridesOf(a!.shape);
  const own = (i: number): number => a!.shape[i - lead] ?? 1;
  const dims = asked.map((dim, i) => Math.max(dim, own(i)));
  const from = dims.map((_, i) => (own(i) === 1 ? 0 : strides[i - lead]!));
  return [copied(builder, a!, dims, from)];
};

/** Slice. Bounds may be negative or beyond the end; a slice of the whole value copies nothing. */
const slice: Operator = (builder, node) => {
  const [a, starts, ends] = operandsOf(builder, node, 3) as [Value, Value, Value];
  const [from, to] = [numbersOf(node, starts), numbersOf(node, ends)];
  const axes = builder.operand(node, 3);
  const steps = builder.operand(node, 4);
  if (steps && numbersOf(node, steps).some((step) => step !== 1))
    throw unsupportedNode(node, 'a slice with steps');
  const dims = [...a.shape];
  const strides = stridesOf(a.shape);
  let fromStart = 0;
  for (const [k, each] of (axes ? numbersOf(node, axes) : from.map((_, i) => i)).entries()) {
    const axis = axisOf(each, a);
    const size = a.shape[axis]!;
    const bound = (index: number): number =>
      Math.min(size, Math.max(0, index < 0 ? index + size : index));
    const start = bound(from[k]!);
    dims[axis] = Math.max(0, bound(to[k]!) - start);
    fromStart += start * strides[axis]!;
  }
  if (sizeOf(dims) === sizeOf(a.shape)) return [builder.alias(a, dims)];
  if (a.host && a.shape.length === 1)
    return [{ ...a, shape: dims, host: a.host.slice(fromStart, fromStart + dims[0]!) }];
  return [copied(builder, a, dims, strides, fromStart)];
};

const split: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1);
  const axis = axisOf(integerOf(node, 'axis', 0), a!);
  const given = builder.operand(node, 1);
  const parts = integerOf(node, 'num_outputs', 1);
  const share = Math.ceil(a!.shape[axis]! / parts);
  const sizes = given
    ? numbersOf(node, given)
    : Array.from({ length: parts }, (_, i) => Math.min(share, a!.shape[axis]! - i * share));
  const strides = stridesOf(a!.shape);
  let start = 0;
  return sizes.map((size) => {
    const part = copied(builder, a!, a!.shape.with(axis, size), strides, start * strides[axis]!);
    start += size;
    return part;
  });
};

const concat: Operator = (builder, node) => {
  const parts = operandsOf(builder, node, node.inputs.length);
  const first = parts[0]!;
  if (parts.every(({ host, dtype, shape }) => host && dtype === 'int64' && shape.length === 1))
    return [hostIntegers(parts.flatMap(({ host }) => host!))];
  return [joined(builder, parts, axisOf(integerOf(node, 'axis', 0), first))];
};

const padOf: Operator = (builder, node) => {
  const [a, pads] = operandsOf(builder, node, 2);
  if (builder.operand(node, 2)) throw unsupportedNode(node, 'padding with a number other than 0');
  const rank = a!.shape.length;
  const [before, after] = [
    numbersOf(node, pads!).slice(0, rank),
    numbersOf(node, pads!).slice(rank),
  ];
  if ([...before, ...after].some((count) => count < 0))
    throw unsupportedNode(node, 'negative padding');
  const dims = a!.shape.map((dim, i) => before[i]! + dim + after[i]!);
  const y = zeros(builder, a!.dtype, dims);
  const strides = stridesOf(dims);
  put(
    builder,
    a!,
    y,
    before.reduce((sum, count, i) => sum + count * strides[i]!, 0),
  );
  return [y];
};

const trilu: Operator = (builder, node) => {
  const [a, bound] = operandsOf(builder, node, 2);
  const y = builder.fresh(a!.dtype, a!.shape);
  const [diagonal, upper] = [numbersOf(node, bound!)[0]!, integerOf(node, 'upper', 1) === 1];
  const size = a!.shape.slice(-2) as [number, number];
  const call = triangle(elementOf(a!.dtype)!, sizeOf(a!.shape), size, { upper, diagonal });
  builder.run(call, [a!], [y]);
  return [y];
};

const gatherOf: Operator = (builder, node) => {
  const [a, indices] = operandsOf(builder, node, 2) as [Value, Value];
  const axis = axisOf(integerOf(node, 'axis', 0), a);
  if (a.host && indices.host && a.shape.length === 1)
    return [{ ...a, shape: indices.shape, host: indices.host.map((index) => a.host!.at(index)!) }];
  if (indices.host?.some((index) => index < 0)) throw unsupportedNode(node, 'negative indices');
  const [lead, rest] = [a.shape.slice(0, axis), a.shape.slice(axis + 1)];
  const y = builder.fresh(a.dtype, [...lead, ...indices.shape, ...rest]);
  const sizes = {
    outer: sizeOf(lead),
    size: a.shape[axis]!,
    inner: sizeOf(rest),
    count: sizeOf(indices.shape),
  };
  builder.run(gather(elementOf(a.dtype)!, sizes), [a, indices], [y]);
  return [y];
};

/** Rows and width of a value whose last dimension an operator works on. */
export function rowsOf(
  node: NodeRecord,
  a: Value,
): { readonly rows: number; readonly width: number } {
  if (axisOf(integerOf(node, 'axis', -1), a) !== a.shape.length - 1)
    throw unsupportedNode(node, 'an axis other than the last');
  const width = a.shape.at(-1)!;
  return { rows: width === 0 ? 0 : sizeOf(a.shape) / width, width };
}

const gatherElementsOf: Operator = (builder, node) => {
  const [a, indices] = operandsOf(builder, node, 2) as [Value, Value];
  const { rows, width } = rowsOf(node, a);
  const y = builder.fresh(a.dtype, indices.shape);
  const count = indices.shape.at(-1)!;
  const sizes = { outer: rows, size: width, inner: 1, count, isOwn: true };
  builder.run(gather(elementOf(a.dtype)!, sizes), [a, indices], [y]);
  return [y];
};

const scatterElementsOf: Operator = (builder, node) => {
  const [a, indices, values] = operandsOf(builder, node, 3) as [Value, Value, Value];
  const { reduction = 'none' } = node.attributes;
  if (reduction !== 'none' && reduction !== 'add')
    throw unsupportedNode(node, `the reduction ${JSON.stringify(reduction)}`);
  const y = builder.fresh(a.dtype, a.shape);
  const sizes = { ...rowsOf(node, a), count: indices.shape.at(-1)! };
  const call = scatterElements(elementOf(a.dtype)!, reduction === 'add' ? 'add' : 'set', sizes);
  builder.run(call, [a, indices, values], [y]);
  return [y];
};

const topKOf: Operator = (builder, node) => {
  const [a, counts] = operandsOf(builder, node, 2) as [Value, Value];
  const { rows, width } = rowsOf(node, a);
  const count = numbersOf(node, counts)[0]!;
  const shape = a.shape.with(-1, count);
  const found = [builder.fresh('float32', shape), builder.fresh('int64', shape)];
  builder.run(topK(rows, width, count), [a], found);
  return found;
};

export const moveOperators: Readonly<Record<string, Operator>> = {
  Transpose: transpose,
  Expand: expand,
  Slice: slice,
  Split: split,
  Concat: concat,
  Pad: padOf,
  Trilu: trilu,
  Gather: gatherOf,
  GatherElements: gatherElementsOf,
  ScatterElements: scatterElementsOf,
  TopK: topKOf,
};
