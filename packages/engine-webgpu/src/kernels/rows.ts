/**
 * Reductions of rows. Element i belongs to thread i modulo the number of threads, so appending elements that contribute
 * 0 to a row changes no bit of the result.
 */
import {
  elementCall,
  floatBits,
  kernel,
  perElement,
  perRow,
  reduceThreads,
  rowCall,
  type Call,
} from './kernel.js';
import { blockDepth } from './product.js';

const threads = 128;

/** The lowest float32. WGSL may assume that there are no infinities. */
const lowest = '-3.4028234e38';

const each = (statement: string): string =>
  `for (var i = t; i < p(1u); i += ${threads}u) { ${statement} }`;

/** Softmax or its logarithm over the last dimension. [rows, width] */
export function softmax(kind: 'Softmax' | 'LogSoftmax', rows: number, width: number): Call {
  const made = kernel({ name: kind, reads: ['f32'], writes: ['f32'] }, () =>
    perRow(
      threads,
      `
  let at0 = row * p(1u);
  var largest = ${lowest};
  ${each('largest = max(largest, b0[at0 + i]);')}
  ${reduceThreads(threads, 'largest', 'max')}
  let top = shared_[0];
  workgroupBarrier();
  var sum = 0.0;
  ${each('sum += exp(b0[at0 + i] - top);')}
  ${reduceThreads(threads, 'sum', 'sum')}
  let total = shared_[0];
  ${
    kind === 'Softmax'
      ? each('b1[at0 + i] = exp(b0[at0 + i] - top) / total;')
      : `let log_total = log(total); ${each('b1[at0 + i] = b0[at0 + i] - top - log_total;')}`
  }`,
    ),
  );
  return rowCall(made, rows, width, [width]);
}

/** y = w x r with r = 1 / sqrt(mean(x^2) + epsilon). x [rows, width], w [width] -> y, r [rows] */
export function rootMeanSquareNorm(rows: number, width: number, epsilon: number): Call {
  const name = 'SimplifiedLayerNormalization';
  const made = kernel({ name, reads: ['f32', 'f32'], writes: ['f32', 'f32'] }, () =>
    perRow(
      threads,
      `
  let at0 = row * p(1u);
  var sum = 0.0;
  ${each('let x = b0[at0 + i]; sum = fma(x, x, sum);')}
  ${reduceThreads(threads, 'sum', 'sum')}
  let r = 1.0 / sqrt(shared_[0] / f32(p(1u)) + pf(2u));
  if (t == 0u) { b3[row] = r; }
  ${each('b2[at0 + i] = b0[at0 + i] * r * b1[i];')}`,
    ),
  );
  return rowCall(made, rows, width, [width, floatBits(epsilon)]);
}

/** Sum or maximum along an axis. [outer, width, inner] -> [outer, inner] */
export function reduce(
  kind: 'ReduceSum' | 'ReduceMax',
  outer: number,
  width: number,
  inner: number,
): Call {
  return inner === 1 ? reduceRows(kind, outer, width) : reduceColumns(kind, outer, width, inner);
}

function reduceRows(kind: 'ReduceSum' | 'ReduceMax', rows: number, width: number): Call {
  const isSum = kind === 'ReduceSum';
  const made = kernel({ name: kind, variant: 'rows', reads: ['f32'], writes: ['f32'] }, () =>
    perRow(
      threads,
      `
  var result = ${isSum ? '0.0' : lowest};
  ${each(`let x = b0[row * p(1u) + i]; result = ${isSum ? 'result + x' : 'max(result, x)'};`)}
  ${reduceThreads(threads, 'result', isSum ? 'sum' : 'max')}
  if (t == 0u) { b1[row] = shared_[0]; }`,
    ),
  );
  return rowCall(made, rows, width, [width]);
}

/** Reduces columns with a thread each, so that neighbouring threads read neighbouring numbers; sums in blocks. */
function reduceColumns(
  kind: 'ReduceSum' | 'ReduceMax',
  outer: number,
  width: number,
  inner: number,
): Call {
  const isSum = kind === 'ReduceSum';
  const made = kernel({ name: kind, variant: 'columns', reads: ['f32'], writes: ['f32'] }, () =>
    perElement(`
  let at0 = (i / p(2u)) * p(1u) * p(2u) + i % p(2u);
  var result = ${isSum ? '0.0' : lowest};
  for (var block = 0u; block < p(1u); block += ${blockDepth}u) {
    var part = ${isSum ? '0.0' : lowest};
    for (var k = block; k < min(p(1u), block + ${blockDepth}u); k++) {
      let x = b0[at0 + k * p(2u)];
      part = ${isSum ? 'part + x' : 'max(part, x)'};
    }
    result = ${isSum ? 'result + part' : 'max(result, part)'};
  }
  b1[i] = result;`),
  );
  return elementCall(made, outer * inner, [width, inner], 8 * width);
}

/**
 * Cumulative sums of rows. Each thread sums neighbouring elements, and starts from the sum of the threads before it.
 */
export function cumulativeSum(rows: number, width: number): Call {
  const made = kernel({ name: 'CumSum', reads: ['f32'], writes: ['f32'] }, () =>
    perRow(
      threads,
      `
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
  }`,
    ),
  );
  return rowCall(made, rows, width, [width]);
}
