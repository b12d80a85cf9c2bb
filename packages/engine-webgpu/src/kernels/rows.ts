/**
 * Reductions of rows. Except in {@link cumulativeSum}, thread t handles the elements t, t + n, t +
 * 2n ..., where n is the number of threads. Appending elements that contribute 0 to a row therefore
 * does not change the bits of the result.
 */
import { floatBits, maximum, perElement, perRow, reduceThreads, sum, type Call } from './kernel.js';
import { blockDepth } from './product.js';

const threads = 128;

/**
 * The lowest finite float32, used instead of minus infinity because WGSL may assume that there are
 * no infinities.
 */
const lowest = '-3.4028234e38';

const each = (statement: string): string =>
  `for (var i = t; i < p(1u); i += ${threads}u) { ${statement} }`;

/** Computes softmax or its logarithm over the last dimension. [rows, width] */
export function softmax(kind: 'Softmax' | 'LogSoftmax', rows: number, width: number): Call {
  const body = `
  let at0 = row * p(1u);
  var largest = ${lowest};
  ${each('largest = max(largest, b0[at0 + i]);')}
  ${reduceThreads(threads, 'top', 'largest', maximum)}
  workgroupBarrier();
  var sum = 0.0;
  ${each('sum += exp(b0[at0 + i] - top);')}
  ${reduceThreads(threads, 'total', 'sum', sum)}
  ${
    kind === 'Softmax'
      ? each('b1[at0 + i] = exp(b0[at0 + i] - top) / total;')
      : `let log_total = log(total); ${each('b1[at0 + i] = b0[at0 + i] - top - log_total;')}`
  }`;
  return rowCall(kind, rows, width, body);
}

const rowCall = (name: string, rows: number, width: number, body: string): Call =>
  perRow({ name, types: 'f32 -> f32', cost: 24 * width, threads }, [rows, width], body);

/**
 * Computes y = w x r with r = 1 / sqrt(mean(x^2) + epsilon). x [rows, width], w [width] -> y, r
 * [rows]
 */
export function rootMeanSquareNorm(rows: number, width: number, epsilon: number): Call {
  const body = `
  let at0 = row * p(1u);
  var sum = 0.0;
  ${each('let x = b0[at0 + i]; sum = fma(x, x, sum);')}
  ${reduceThreads(threads, 'total', 'sum', sum)}
  let r = 1.0 / sqrt(total / f32(p(1u)) + pf(2u));
  if (t == 0u) { b3[row] = r; }
  ${each('b2[at0 + i] = b0[at0 + i] * r * b1[i];')}`;
  const types = 'f32 f32 -> f32 f32';
  const spec = { name: 'SimplifiedLayerNormalization', types, cost: 24 * width, threads };
  return perRow(spec, [rows, width, floatBits(epsilon)], body);
}

type Reduction = 'ReduceSum' | 'ReduceMax';

/** Initial value and combining function of each reduction, in WGSL. */
const reductions = {
  ReduceSum: { start: '0.0', of: sum },
  ReduceMax: { start: lowest, of: maximum },
};

/** Computes the sum or maximum along an axis. [outer, width, inner] -> [outer, inner] */
export function reduce(kind: Reduction, outer: number, width: number, inner: number): Call {
  return inner === 1 ? reduceRows(kind, outer, width) : reduceColumns(kind, outer, width, inner);
}

function reduceRows(kind: Reduction, rows: number, width: number): Call {
  const { start, of } = reductions[kind];
  const body = `
  var result = ${start};
  ${each(`result = ${of('result', 'b0[row * p(1u) + i]')};`)}
  ${reduceThreads(threads, 'total', 'result', of)}
  if (t == 0u) { b1[row] = total; }`;
  return rowCall(kind, rows, width, body);
}

/**
 * Reduces the middle axis with one thread per result, so that neighbouring threads read
 * neighbouring elements. Sums in blocks of {@link blockDepth}.
 */
function reduceColumns(kind: Reduction, outer: number, width: number, inner: number): Call {
  const { start, of } = reductions[kind];
  const body = `
  let at0 = (i / p(2u)) * p(1u) * p(2u) + i % p(2u);
  var result = ${start};
  for (var block = 0u; block < p(1u); block += ${blockDepth}u) {
    var part = ${start};
    for (var k = block; k < min(p(1u), block + ${blockDepth}u); k++) {
      part = ${of('part', 'b0[at0 + k * p(2u)]')};
    }
    result = ${of('result', 'part')};
  }
  b1[i] = result;`;
  const spec = { name: `${kind} of columns`, types: 'f32 -> f32', cost: 8 * width };
  return perElement(spec, [outer * inner, width, inner], body);
}

/**
 * Computes cumulative sums of rows. Each thread sums a range of neighbouring elements, to which it
 * adds the total of all ranges before it.
 */
export function cumulativeSum(rows: number, width: number): Call {
  const body = `
  let at0 = row * p(1u);
  let share = (p(1u) + ${threads - 1}u) / ${threads}u;
  let first = min(p(1u), t * share);
  let end = min(p(1u), first + share);
  var own = 0.0;
  for (var i = first; i < end; i++) { own += b0[at0 + i]; }
  shared_[t] = own;
  workgroupBarrier();
  for (var distance = 1u; distance < ${threads}u; distance = distance * 2u) {
    var before = 0.0;
    if (t >= distance) { before = shared_[t - distance]; }
    workgroupBarrier();
    shared_[t] += before;
    workgroupBarrier();
  }
  var sum = 0.0;
  if (t > 0u) { sum = shared_[t - 1u]; }
  for (var i = first; i < end; i++) {
    sum += b0[at0 + i];
    b1[at0 + i] = sum;
  }`;
  return rowCall('CumSum', rows, width, body);
}
