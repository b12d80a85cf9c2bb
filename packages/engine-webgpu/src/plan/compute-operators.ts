/** Operators that compute: elementwise, products, rows, positions. */
import type { NodeRecord } from '@trinity-rft/engine-onnx/graph-runtime';
import { elementwise } from '../kernels/elementwise.js';
import { sizeOf, stridesOf } from '../kernels/loop.js';
import { convolution, rotary } from '../kernels/positions.js';
import { product } from '../kernels/product.js';
import { cumulativeSum, reduce, rootMeanSquareNorm, softmax } from '../kernels/rows.js';
import { floatOf, integerOf } from './attributes.js';
import { unsupportedNode, type PlanBuilder } from './builder.js';
import { copied, joined, rowsOf, zeros } from './move-operators.js';
import { numbersOf, operandsOf, type Operator } from './shape-operators.js';
import { axisOf, elementOf, type Value } from './value.js';

const comparisons = new Set(['Equal', 'Less', 'LessOrEqual', 'Greater']);

const elementwiseOf: Operator = (builder, node) => {
  const operands = operandsOf(builder, node, node.inputs.length);
  // A comparison with infinity orders nodes; the commands of a queue run in order anyway.
  if (node.type === 'Greater' && operands[1]!.host?.every((bound) => bound === Infinity))
    return [{ dtype: 'bool', shape: operands[0]!.shape, host: [0] }];
  return [computed(builder, node, operands)];
};

/** The result of an elementwise operator, with operands broadcast to one shape. */
function computed(builder: PlanBuilder, node: NodeRecord, operands: readonly Value[]): Value {
  const rank = Math.max(...operands.map(({ shape }) => shape.length));
  const dims = Array.from({ length: rank }, (_, i) =>
    operands.reduce((found, { shape }) => {
      const dim = shape[i - rank + shape.length] ?? 1;
      if (dim !== 1 && found !== 1 && dim !== found)
        throw unsupportedNode(node, `operands of ${dim} and ${found} numbers in one dimension`);
      return found === 1 ? dim : found;
    }, 1),
  );
  const strides = operands.map(({ shape }) => {
    const own = stridesOf(shape);
    const lead = rank - shape.length;
    return dims.map((_, i) => (i < lead || shape[i - lead] === 1 ? 0 : own[i - lead]!));
  });
  const elements = operands.map(({ dtype }) => elementOf(dtype)!);
  const y = builder.fresh(comparisons.has(node.type) ? 'bool' : operands.at(-1)!.dtype, dims);
  builder.run(elementwise(node.type, elements, { dims, strides }), operands, [y]);
  return y;
}

const productOf: Operator = (builder, node) => {
  const [a, b] = operandsOf(builder, node, 2) as [Value, Value];
  return [multiplied(builder, node, a, b)];
};

const gemm: Operator = (builder, node) => {
  const [a, b, c] = operandsOf(builder, node, 3) as [Value, Value, Value];
  if (floatOf(node, 'beta', 1) !== 1) throw unsupportedNode(node, 'a factor of the summand');
  const sum = { ...node, type: 'Add' };
  return [computed(builder, sum, [multiplied(builder, node, a, b), c])];
};

/** Matrix product. The right operand has the leading dimensions of the left one, or is a single matrix. */
function multiplied(builder: PlanBuilder, node: NodeRecord, a: Value, b: Value): Value {
  const transposeA = integerOf(node, 'transA', 0) === 1;
  const transposeB = integerOf(node, 'transB', 0) === 1;
  const alpha = floatOf(node, 'alpha', 1);
  const sharedB = b.shape.length === 2 && a.shape.length > 2;
  const lead = a.shape.slice(0, -2);
  const [m, k] = transposeA
    ? [a.shape.at(-1)!, a.shape.at(-2)!]
    : [a.shape.at(-2)!, a.shape.at(-1)!];
  const [depth, n] = transposeB
    ? [b.shape.at(-1)!, b.shape.at(-2)!]
    : [b.shape.at(-2)!, b.shape.at(-1)!];
  const alike = sharedB ? !transposeA : b.shape.slice(0, -2).join() === lead.join();
  if (k !== depth || !alike)
    throw unsupportedNode(node, `a product of [${a.shape.join(', ')}] and [${b.shape.join(', ')}]`);
  const y = builder.fresh('float32', [...lead, m, n]);
  const sizes = sharedB ? { batch: 1, rows: sizeOf(lead) * m } : { batch: sizeOf(lead), rows: m };
  const shape = { ...sizes, columns: n, depth, transposeA, transposeB, alpha };
  const { first, partials } = product(shape);
  if (!partials) {
    builder.run(first, [a, b], [y]);
    return y;
  }
  const sums = builder.fresh('float32', [partials.size]);
  builder.run(first, [a, b], [sums]);
  builder.run(partials.sum, [sums], [y]);
  return y;
}

const softmaxOf: Operator = (builder, node) => {
  const [a] = operandsOf(builder, node, 1) as [Value];
  const { rows, width } = rowsOf(node, a);
  const y = builder.fresh('float32', a.shape);
  builder.run(softmax(node.type as 'Softmax' | 'LogSoftmax', rows, width), [a], [y]);
  return [y];
};

const norm: Operator = (builder, node) => {
  const [a, weight] = operandsOf(builder, node, 2) as [Value, Value];
  const { rows, width } = rowsOf(node, a);
  const made = [builder.fresh('float32', a.shape), builder.fresh('float32', a.shape.with(-1, 1))];
  builder.run(rootMeanSquareNorm(rows, width, floatOf(node, 'epsilon', 1e-5)), [a, weight], made);
  return made;
};

/** Reduction over axes. Neighbouring axes are reduced together, the last axes first. */
const reduceOf: Operator = (builder, node) => {
  const [a, given] = operandsOf(builder, node, 2) as [Value, Value];
  const axes = numbersOf(node, given)
    .map((axis) => axisOf(axis, a))
    .toSorted((x, y) => x - y);
  const kind = node.type as 'ReduceSum' | 'ReduceMax';
  let found = a;
  while (axes.length > 0) {
    const last = axes.pop()!;
    let first = last;
    while (axes.at(-1) === first - 1) first = axes.pop()!;
    const { shape } = found;
    const y = builder.fresh(
      'float32',
      shape.map((dim, i) => (i < first || i > last ? dim : 1)),
    );
    const [outer, width] = [shape.slice(0, first), shape.slice(first, last + 1)].map(sizeOf);
    builder.run(reduce(kind, outer!, width!, sizeOf(shape.slice(last + 1))), [found], [y]);
    found = y;
  }
  if (integerOf(node, 'keepdims', 1) === 1) return [found];
  const reduced = new Set(numbersOf(node, given).map((axis) => axisOf(axis, a)));
  return [
    builder.alias(
      found,
      found.shape.filter((_, i) => !reduced.has(i)),
    ),
  ];
};

const cumulativeSumOf: Operator = (builder, node) => {
  const [a, axis] = operandsOf(builder, node, 2) as [Value, Value];
  const attributes = { ...node.attributes, axis: numbersOf(node, axis)[0]! };
  const { rows, width } = rowsOf({ ...node, attributes }, a);
  if (integerOf(node, 'exclusive', 0) + integerOf(node, 'reverse', 0) > 0)
    throw unsupportedNode(node, 'exclusive or reverse sums');
  const y = builder.fresh('float32', a.shape);
  builder.run(cumulativeSum(rows, width), [a], [y]);
  return [y];
};

const rotaryOf: Operator = (builder, node) => {
  const [x, positions, cos, sin] = operandsOf(builder, node, 4) as [Value, Value, Value, Value];
  const shape = x.shape as readonly [number, number, number, number];
  if (integerOf(node, 'interleaved', 0) !== 0) throw unsupportedNode(node, 'interleaved pairs');
  const rotated = integerOf(node, 'rotary_embedding_dim', 0) || shape[3];
  const isFirst = positions.shape.length === 1;
  const y = builder.fresh('float32', shape);
  builder.run(rotary({ shape, rotated, isFirst }), [x, positions, cos, sin], [y]);
  return [y];
};

const convolutionOf: Operator = (builder, node) => {
  const [x, weight] = operandsOf(builder, node, 2) as [Value, Value];
  const [bias, past] = [builder.operand(node, 2), builder.operand(node, 3)];
  const { activation = 'none' } = node.attributes;
  if (bias || activation !== 'none' || integerOf(node, 'channels_last', 0) !== 1)
    throw unsupportedNode(node, 'a bias, an activation, or channels before positions');
  const shape = x.shape as readonly [number, number, number];
  const kept = weight.shape.at(-1)! - 1;
  const dims = shape.with(1, kept);
  const whole = joined(builder, [past ?? zeros(builder, 'float32', dims), x], 1);
  const y = builder.fresh('float32', shape);
  builder.run(convolution(shape, kept + 1), [whole, weight], [y]);
  return [y, copied(builder, whole, dims, stridesOf(whole.shape), shape[1] * shape[2])];
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
