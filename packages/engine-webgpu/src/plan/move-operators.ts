/** Operators that move elements, or read them by index. */
import { gather, scatterElements, topK } from '../kernels/indices.js';
import { sizeOf, stridesOf } from '../kernels/loop.js';
import { triangle } from '../kernels/moves.js';
import { copied, joined, put, zeros } from './copies.js';
import { hostIntegers } from './shape-operators.js';
import type { Operator } from './step.js';
import { axisOf, elementOf } from './value.js';

const transpose: Operator = (step) => {
  const a = step.operand(0);
  const order = step.integers('perm');
  const strides = stridesOf(a.shape);
  const [dims, from] = [order.map((axis) => a.shape[axis]!), order.map((axis) => strides[axis]!)];
  return [copied(step.builder, a, dims, from)];
};

const expand: Operator = (step) => {
  const a = step.operand(0);
  const asked = step.numbers(1);
  const lead = asked.length - a.shape.length;
  const strides = stridesOf(a.shape);
  const own = (i: number): number => a.shape[i - lead] ?? 1;
  const dims = asked.map((dim, i) => Math.max(dim, own(i)));
  const from = dims.map((_, i) => (own(i) === 1 ? 0 : strides[i - lead]!));
  return [copied(step.builder, a, dims, from)];
};

/**
 * Plans a slice. Bounds may be negative or beyond the end. A slice of the whole value copies
 * nothing.
 */
const slice: Operator = (step) => {
  const a = step.operand(0);
  const [from, to] = [step.numbers(1), step.numbers(2)];
  const axes = step.optional(3) ? step.numbers(3) : [...from.keys()];
  if (step.optional(4) && step.numbers(4).some((size) => size !== 1))
    step.fail('a slice with steps');
  const dims = [...a.shape];
  const strides = stridesOf(a.shape);
  let fromStart = 0;
  for (const [k, each] of axes.entries()) {
    const axis = axisOf(each, a);
    const size = a.shape[axis]!;
    const bound = (index: number): number =>
      Math.min(size, Math.max(0, index < 0 ? index + size : index));
    const start = bound(from[k]!);
    dims[axis] = Math.max(0, bound(to[k]!) - start);
    fromStart += start * strides[axis]!;
  }
  if (sizeOf(dims) === sizeOf(a.shape)) return [step.builder.alias(a, dims)];
  if (a.host && a.shape.length === 1)
    return [{ ...a, shape: dims, host: a.host.slice(fromStart, fromStart + dims[0]!) }];
  return [copied(step.builder, a, dims, strides, fromStart)];
};

const split: Operator = (step) => {
  const a = step.operand(0);
  const axis = axisOf(step.integer('axis', 0), a);
  const parts = step.integer('num_outputs', 1);
  const share = Math.ceil(a.shape[axis]! / parts);
  const sizes = step.optional(1)
    ? step.numbers(1)
    : Array.from({ length: parts }, (_, i) => Math.min(share, a.shape[axis]! - i * share));
  const strides = stridesOf(a.shape);
  let start = 0;
  return sizes.map((size) => {
    const dims = a.shape.with(axis, size);
    const part = copied(step.builder, a, dims, strides, start * strides[axis]!);
    start += size;
    return part;
  });
};

const concat: Operator = (step) => {
  const parts = step.operands();
  if (parts.every(({ host, dtype, shape }) => host && dtype === 'int64' && shape.length === 1))
    return [hostIntegers(parts.flatMap(({ host }) => host!))];
  return [joined(step.builder, parts, axisOf(step.integer('axis', 0), parts[0]!))];
};

const pad: Operator = (step) => {
  const a = step.operand(0);
  const counts = step.numbers(1);
  if (step.optional(2)) step.fail('padding with a number other than 0');
  if (counts.some((count) => count < 0)) step.fail('negative padding');
  const rank = a.shape.length;
  const dims = a.shape.map((dim, i) => counts[i]! + dim + counts[rank + i]!);
  const y = zeros(step.builder, a.dtype, dims);
  const start = stridesOf(dims).reduce((sum, stride, i) => sum + stride * counts[i]!, 0);
  put(step.builder, a, y, start);
  return [y];
};

const trilu: Operator = (step) => {
  const a = step.operand(0);
  const [diagonal, upper] = [step.numbers(1)[0]!, step.integer('upper', 1) === 1];
  const size = a.shape.slice(-2) as [number, number];
  const call = triangle(elementOf(a.dtype)!, sizeOf(a.shape), size, { upper, diagonal });
  return [step.builder.computed(a.dtype, a.shape, call, [a])];
};

const gatherOf: Operator = (step) => {
  const [a, indices] = [step.operand(0), step.operand(1)];
  const axis = axisOf(step.integer('axis', 0), a);
  if (a.host && indices.host && a.shape.length === 1)
    return [{ ...a, shape: indices.shape, host: indices.host.map((index) => a.host!.at(index)!) }];
  if (indices.host?.some((index) => index < 0)) step.fail('negative indices');
  const [lead, rest] = [a.shape.slice(0, axis), a.shape.slice(axis + 1)];
  const sizes = { outer: sizeOf(lead), size: a.shape[axis]!, inner: sizeOf(rest) };
  const call = gather(elementOf(a.dtype)!, { ...sizes, count: sizeOf(indices.shape) });
  const shape = [...lead, ...indices.shape, ...rest];
  return [step.builder.computed(a.dtype, shape, call, [a, indices])];
};

const gatherElements: Operator = (step) => {
  const [a, indices] = [step.operand(0), step.operand(1)];
  const { rows, width } = step.rows(a);
  const sizes = { outer: rows, size: width, inner: 1, count: indices.shape.at(-1)! };
  const call = gather(elementOf(a.dtype)!, { ...sizes, isOwn: true });
  return [step.builder.computed(a.dtype, indices.shape, call, [a, indices])];
};

const scatterElementsOf: Operator = (step) => {
  const [a, indices, values] = [step.operand(0), step.operand(1), step.operand(2)];
  const { reduction = 'none' } = step.node.attributes;
  if (reduction !== 'none' && reduction !== 'add')
    step.fail(`the reduction ${JSON.stringify(reduction)}`);
  const sizes = { ...step.rows(a), count: indices.shape.at(-1)! };
  const kind = reduction === 'add' ? 'add' : 'set';
  const call = scatterElements(elementOf(a.dtype)!, kind, sizes);
  return [step.builder.computed(a.dtype, a.shape, call, [a, indices, values])];
};

const topKOf: Operator = (step) => {
  const a = step.operand(0);
  const { rows, width } = step.rows(a);
  const count = step.numbers(1)[0]!;
  const shape = a.shape.with(-1, count);
  const found = [step.builder.fresh('float32', shape), step.builder.fresh('int64', shape)];
  step.builder.run(topK(rows, width, count), [a], found);
  return found;
};

export const moveOperators: Readonly<Record<string, Operator>> = {
  Transpose: transpose,
  Expand: expand,
  Slice: slice,
  Split: split,
  Concat: concat,
  Pad: pad,
  Trilu: trilu,
  Gather: gatherOf,
  GatherElements: gatherElements,
  ScatterElements: scatterElementsOf,
  TopK: topKOf,
};
