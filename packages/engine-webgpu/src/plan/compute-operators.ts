/**
 * Operators that compute numbers: elementwise operators, matrix products, reductions of rows,
 * rotary embedding and causal convolution.
 */
import { elementwise } from '../kernels/elementwise.js';
import { sizeOf, stridesOf } from '../kernels/loop.js';
import { convolution, rotary } from '../kernels/positions.js';
import { product } from '../kernels/product.js';
import { cumulativeSum, reduce, rootMeanSquareNorm, softmax } from '../kernels/rows.js';
import { copied, joined, zeros } from './copies.js';
import type { Operator, Step } from './step.js';
import { axisOf, elementOf, type Value } from './value.js';

const comparisons = new Set(['Equal', 'Less', 'LessOrEqual', 'Greater']);

const elementwiseOf: Operator = (step) => {
  const { type } = step.node;
  const operands = step.operands();
  // Graphs use a comparison with infinity only to order nodes. The commands of a queue are executed
  // in order anyway, so no kernel is needed.
  if (type === 'Greater' && operands[1]!.host?.every((bound) => bound === Infinity))
    return [{ dtype: 'bool', shape: operands[0]!.shape, host: [0] }];
  return [computed(step, type, operands)];
};

/** Plans an elementwise operator. The operands are broadcast to a common shape. */
function computed(step: Step, type: string, operands: readonly Value[]): Value {
  const rank = Math.max(...operands.map(({ shape }) => shape.length));
  const dims = Array.from({ length: rank }, (_, i) =>
    operands.reduce((found, { shape }) => {
      const dim = shape[i - rank + shape.length] ?? 1;
      if (dim !== 1 && found !== 1 && dim !== found)
        step.fail(`operands of ${dim} and ${found} numbers in one dimension`);
      return found === 1 ? dim : found;
    }, 1),
  );
  const strides = operands.map(({ shape }) => {
    const own = stridesOf(shape);
    const lead = rank - shape.length;
    return dims.map((_, i) => (i < lead || shape[i - lead] === 1 ? 0 : own[i - lead]!));
  });
  const elements = operands.map(({ dtype }) => elementOf(dtype)!);
  const dtype = comparisons.has(type) ? 'bool' : operands.at(-1)!.dtype;
  return step.builder.computed(
    dtype,
    dims,
    elementwise(type, elements, { dims, strides }),
    operands,
  );
}

const productOf: Operator = (step) => [multiplied(step)];

const gemm: Operator = (step) => {
  if (step.float('beta', 1) !== 1) step.fail('a factor of the summand');
  return [computed(step, 'Add', [multiplied(step), step.operand(2)])];
};

/**
 * Plans the matrix product of the first two operands. The right operand must have the leading
 * dimensions of the left one, or be a single matrix.
 */
function multiplied(step: Step): Value {
  const [a, b] = [step.operand(0), step.operand(1)];
  const [transposeA, transposeB] = ['transA', 'transB'].map((key) => step.integer(key, 0) === 1);
  const sharedB = b.shape.length === 2 && a.shape.length > 2;
  const lead = a.shape.slice(0, -2);
  const [m, k] = matrixOf(a, transposeA!);
  const [depth, n] = matrixOf(b, transposeB!);
  const alike = sharedB ? !transposeA : b.shape.slice(0, -2).join() === lead.join();
  if (k !== depth || !alike)
    step.fail(`a product of [${a.shape.join(', ')}] and [${b.shape.join(', ')}]`);
  const sizes = sharedB ? { batch: 1, rows: sizeOf(lead) * m } : { batch: sizeOf(lead), rows: m };
  const { first, partials } = product({
    ...sizes,
    columns: n,
    depth,
    transposeA: transposeA!,
    transposeB: transposeB!,
    alpha: step.float('alpha', 1),
  });
  const shape = [...lead, m, n];
  if (!partials) return step.builder.computed('float32', shape, first, [a, b]);
  const sums = step.builder.computed('float32', [partials.size], first, [a, b]);
  return step.builder.computed('float32', shape, partials.sum, [sums]);
}

/**
 * Returns the numbers of rows and columns of each matrix, after transposing it if `isTransposed` is
 * true.
 */
function matrixOf({ shape }: Value, isTransposed: boolean): readonly [number, number] {
  const [rows, columns] = shape.slice(-2) as [number, number];
  return isTransposed ? [columns, rows] : [rows, columns];
}

const softmaxOf: Operator = (step) => {
  const a = step.operand(0);
  const { rows, width } = step.rows(a);
  const call = softmax(step.node.type as 'Softmax' | 'LogSoftmax', rows, width);
  return [step.builder.computed('float32', a.shape, call, [a])];
};

const norm: Operator = (step) => {
  const [a, weight] = [step.operand(0), step.operand(1)];
  const { rows, width } = step.rows(a);
  const shapes = [a.shape, a.shape.with(-1, 1)];
  const made = shapes.map((shape) => step.builder.fresh('float32', shape));
  const call = rootMeanSquareNorm(rows, width, step.float('epsilon', 1e-5));
  step.builder.run(call, [a, weight], made);
  return made;
};

/**
 * Plans a reduction over axes. Adjacent axes are reduced by one kernel, starting with the last
 * axes.
 */
const reduceOf: Operator = (step) => {
  const a = step.operand(0);
  const reduced = new Set(step.numbers(1).map((axis) => axisOf(axis, a)));
  const axes = [...reduced].toSorted((x, y) => x - y);
  let found = a;
  while (axes.length > 0) {
    const last = axes.pop()!;
    let first = last;
    while (axes.at(-1) === first - 1) first = axes.pop()!;
    found = reducedAlong(step, found, first, last);
  }
  if (step.integer('keepdims', 1) === 1) return [found];
  const dims = found.shape.filter((_, i) => !reduced.has(i));
  return [step.builder.alias(found, dims)];
};

/** Reduces the axes from `first` to `last`, inclusive, to size 1. */
function reducedAlong(step: Step, a: Value, first: number, last: number): Value {
  const parts = [a.shape.slice(0, first), a.shape.slice(first, last + 1), a.shape.slice(last + 1)];
  const [outer, width, inner] = parts.map(sizeOf) as [number, number, number];
  const call = reduce(step.node.type as 'ReduceSum' | 'ReduceMax', outer, width, inner);
  const shape = a.shape.map((dim, i) => (i < first || i > last ? dim : 1));
  return step.builder.computed('float32', shape, call, [a]);
}

const cumulativeSumOf: Operator = (step) => {
  const a = step.operand(0);
  const { rows, width } = step.rows(a, step.numbers(1)[0]!);
  if (step.integer('exclusive', 0) + step.integer('reverse', 0) > 0)
    step.fail('exclusive or reverse sums');
  return [step.builder.computed('float32', a.shape, cumulativeSum(rows, width), [a])];
};

const rotaryOf: Operator = (step) => {
  const operands = [0, 1, 2, 3].map((i) => step.operand(i));
  const [x, positions] = operands as [Value, Value];
  const shape = x.shape as readonly [number, number, number, number];
  if (step.integer('interleaved', 0) !== 0) step.fail('interleaved pairs');
  const rotated = step.integer('rotary_embedding_dim', 0) || shape[3];
  const call = rotary({ shape, rotated, isFirst: positions.shape.length === 1 });
  return [step.builder.computed('float32', shape, call, operands)];
};

const convolutionOf: Operator = (step) => {
  const { builder } = step;
  const [x, weight] = [step.operand(0), step.operand(1)];
  const { activation = 'none' } = step.node.attributes;
  if (step.optional(2) || activation !== 'none' || step.integer('channels_last', 0) !== 1)
    step.fail('a bias, an activation, or channels before positions');
  const shape = x.shape as readonly [number, number, number];
  const kept = weight.shape.at(-1)! - 1;
  const dims = shape.with(1, kept);
  const whole = joined(builder, [step.optional(3) ?? zeros(builder, 'float32', dims), x], 1);
  const state = copied(builder, whole, dims, stridesOf(whole.shape), shape[1] * shape[2]);
  const call = convolution(shape, kept + 1);
  return [builder.computed('float32', shape, call, [whole, weight]), state];
};

const elementwiseNames =
  'Add Sub Mul Neg Exp Sigmoid Reciprocal Tanh Erf Min Where Equal Or And Less LessOrEqual Greater';

export const computeOperators: Readonly<Record<string, Operator>> = {
  ...Object.fromEntries(elementwiseNames.split(' ').map((name) => [name, elementwiseOf])),
  MatMul: productOf,
  FusedMatMul: productOf,
  Gemm: gemm,
  Softmax: softmaxOf,
  LogSoftmax: softmaxOf,
  SimplifiedLayerNormalization: norm,
  ReduceSum: reduceOf,
  ReduceMax: reduceOf,
  CumSum: cumulativeSumOf,
  RotaryEmbedding: rotaryOf,
  CausalConvWithState: convolutionOf,
};
