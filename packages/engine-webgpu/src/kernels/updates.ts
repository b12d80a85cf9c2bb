/** Kernels that do not belong to a graph: in-place updates, sums of squares, and moves of rows. */
import type { UpdatePlan } from '@trinity-rft/engine-onnx/graph-runtime';

import { floatBits, maximum, perElement, perRow, reduceThreads, sum, type Call } from './kernel.js';

/**
 * Adds one array to another in place: to += from. `fromStart` and `toStart` are the indices of the
 * first elements.
 */
export function addition(count: number, fromStart: number, toStart: number): Call {
  const body = 'b1[p(2u) + i] = b1[p(2u) + i] + b0[p(1u) + i];';
  return perElement({ name: 'add to', types: 'f32 -> f32' }, [count, fromStart, toStart], body);
}

/**
 * Groups row numbers by id, as input for {@link addedRows}. `list` contains the `count` distinct
 * ids, then for each id the index of its first row number, then the end index, and then the row
 * numbers in the order of the groups.
 */
export function rowsById(ids: Int32Array): { readonly count: number; readonly list: Int32Array } {
  const rows = Map.groupBy(ids.keys(), (row) => ids[row]!);
  const starts: number[] = [];
  let end = 0;
  for (const own of rows.values()) {
    starts.push(end);
    end += own.length;
  }
  const list = Int32Array.from([...rows.keys(), ...starts, end, ...[...rows.values()].flat()]);
  return { count: rows.size, list };
}

/**
 * Adds scaled rows to the rows of a table, such as an embedding table. Rows with the same id are
 * added in order. Operands: the rows, the list of {@link rowsById}, the table.
 */
export function addedRows(
  ids: number,
  width: number,
  starts: { readonly rows: number; readonly table: number },
  scale: number,
): Call {
  const body = `
  let width = p(1u);
  let ids = p(0u) / width;
  let own = i / width;
  let at = p(3u) + u32(b1[own]) * width + i % width;
  var sum = b2[at];
  for (var k = b1[ids + own]; k < b1[ids + own + 1u]; k++) {
    let row = u32(b1[2u * ids + 1u + u32(k)]);
    sum += pf(4u) * b0[p(2u) + row * width + i % width];
  }
  b2[at] = sum;`;
  const uniforms = [width, starts.rows, starts.table, floatBits(scale)];
  const spec = { name: 'add rows', types: 'f32 i32 -> f32', cost: 32 };
  return perElement(spec, [ids * width, ...uniforms], body);
}

const normThreads = 256;

/** Number of elements that a workgroup of {@link squares} sums. */
const normShare = normThreads * 256;

/** Returns the number of workgroups that {@link squares} uses for `count` elements. */
export const squareGroups = (count: number): number => Math.ceil(count / normShare);

/**
 * Computes, for each workgroup, the sum of the squares of its finite elements, and a flag: 1 if any
 * element is not finite, otherwise 0. Elements that are not finite are detected by their bit
 * pattern, because WGSL may assume that all numbers are finite. x -> [groups, 2]. The results are
 * written from group `first` on.
 */
export function squares(count: number, start: number, first: number): Call {
  const body = `
  var sum = 0.0;
  var broken = 0.0;
  let begin = row * ${normShare}u;
  for (var i = begin + t; i < min(p(1u), begin + ${normShare}u); i += ${normThreads}u) {
    let x = b0[p(2u) + i];
    if ((bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u) { broken = 1.0; } else { sum = fma(x, x, sum); }
  }
  ${reduceThreads(normThreads, 'total', 'sum', sum)}
  workgroupBarrier();
  ${reduceThreads(normThreads, 'any_broken', 'broken', maximum)}
  if (t == 0u) {
    b1[2u * (p(3u) + row)] = total;
    b1[2u * (p(3u) + row) + 1u] = any_broken;
  }`;
  const cost = 8 * normShare;
  const spec = { name: 'squares', types: 'f32 -> f32', cost, threads: normThreads };
  return perRow(spec, [squareGroups(count), count, start, first], body);
}

/**
 * Creates the call of an AdamW update that overwrites the weights or, if `isGradient` is true, the
 * gradient. Operands: the array that is only read (the gradient, or the weights), the array that is
 * overwritten, and the first and second moments.
 */
export function adamW(count: number, isGradient: boolean, update: UpdatePlan<number>): Call {
  const { betas, gradientScale, keep, stepSize, rootCorrection, epsilon } = update;
  const factors = betas.flatMap((beta) => [beta, 1 - beta]);
  const numbers = [...factors, gradientScale, keep, stepSize, rootCorrection, epsilon];
  const body = `
  let is_gradient = p(10u) == 1u;
  let g = pf(5u) * select(b0[i], b1[i], is_gradient);
  let m = pf(1u) * b2[i] + pf(2u) * g;
  let v = pf(3u) * b3[i] + pf(4u) * g * g;
  b2[i] = m;
  b3[i] = v;
  let w = select(b1[i], b0[i], is_gradient);
  b1[i] = w * pf(6u) - pf(7u) * m / (sqrt(v) / pf(8u) + pf(9u));`;
  const spec = { name: 'AdamW', types: 'f32 -> f32 f32 f32', cost: 40 };
  return perElement(spec, [count, ...numbers.map(floatBits), Number(isGradient)], body);
}

/** Layout of the rows of a cache within an array of shape [rows, ..., heads, positions, width]. */
export interface CacheRows {
  /** Number of elements between the starts of two consecutive rows. */
  readonly row: number;
  /** Index of the first element of a row's first head. */
  readonly start: number;
  /** Number of positions per head. */
  readonly positions: number;
}

/** Sizes of a copy of rows. `least` and `longest` bound the number of positions per move. */
type MoveSizes = Readonly<Record<'moves' | 'heads' | 'least' | 'longest' | 'width', number>>;

/**
 * Copies ranges of positions from rows of one array to rows of another, by a list of moves (from
 * row, to row, position in the target, length). Operands: the array that is read, the moves, the
 * array that is written. The state of a recurrent layer is stored as a single position that every
 * move copies, even a move of length 0, so `least` and `longest` are both 1 for states.
 */
export function movedRows(
  { moves, heads, least, longest, width }: MoveSizes,
  from: CacheRows,
  to: CacheRows,
): Call {
  const body = `
  let d = i % p(1u);
  let s = (i / p(1u)) % p(2u);
  let h = (i / (p(1u) * p(2u))) % p(3u);
  let first = 4u * (i / (p(1u) * p(2u) * p(3u)));
  if (s >= max(u32(b1[first + 3u]), p(10u))) { return; }
  let from_row = u32(b1[first]) * p(4u) + p(5u);
  let to_row = u32(b1[first + 1u]) * p(7u) + p(8u);
  let position = min(u32(b1[first + 2u]), p(9u) - 1u) + s;
  b2[to_row + (h * p(9u) + position) * p(1u) + d] = b0[from_row + (h * p(6u) + s) * p(1u) + d];`;
  const placed = [from, to].flatMap(({ row, start, positions }) => [row, start, positions]);
  const count = moves * heads * longest * width;
  const spec = { name: 'move rows', types: 'f32 i32 -> f32' };
  return perElement(spec, [count, width, longest, heads, ...placed, least], body);
}
