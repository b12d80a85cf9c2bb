/** Kernels outside graphs, which change arrays in place. Arrays may be views, so indices start at an offset. */
import {
  elementCall,
  floatBits,
  foldGroups,
  kernel,
  perElement,
  perRow,
  reduceThreads,
  type Call,
} from './kernel.js';

/** to += from */
export function addition(count: number, fromStart: number, toStart: number): Call {
  const made = kernel({ name: 'add to', reads: ['f32'], writes: ['f32'] }, () =>
    perElement('b1[p(2u) + i] = b1[p(2u) + i] + b0[p(1u) + i];'),
  );
  return elementCall(made, count, [fromStart, toStart]);
}

/** Scaled rows of a table by ids. table, ids [N] -> [N, width] */
export function tableRows(rows: number, width: number, start: number, scale: number): Call {
  const made = kernel({ name: 'take rows', reads: ['f32', 'i32'], writes: ['f32'] }, () =>
    perElement('b2[i] = pf(3u) * b0[p(2u) + u32(b1[i / p(1u)]) * p(1u) + i % p(1u)];'),
  );
  return elementCall(made, rows * width, [width, start, floatBits(scale)]);
}

/**
 * Groups rows by id for {@link addedRows}. The list: distinct ids; for each id, the start of its rows, then the end;
 * all rows.
 */
export function rowsById(ids: Int32Array): { readonly count: number; readonly list: Int32Array } {
  const rows = Map.groupBy(ids.keys(), (row) => ids[row]!);
  const starts: number[] = [];
  let end = 0;
  for (const own of rows.values()) {
    starts.push(end);
    end += own.length;
  }
  const list = Int32Array.of(...rows.keys(), ...starts, end, ...[...rows.values()].flat());
  return { count: rows.size, list };
}

/**
 * Adds scaled rows to the rows of a table, for each id in the order of the rows. Operands: the rows, the list of {@link
 * rowsById}, the table.
 */
export function addedRows(
  ids: number,
  width: number,
  starts: { readonly rows: number; readonly table: number },
  scale: number,
): Call {
  const made = kernel({ name: 'add rows', reads: ['f32', 'i32'], writes: ['f32'] }, () =>
    perElement(`
  let width = p(1u);
  let ids = p(0u) / width;
  let own = i / width;
  let at = p(3u) + u32(b1[own]) * width + i % width;
  var sum = b2[at];
  for (var k = b1[ids + own]; k < b1[ids + own + 1u]; k++) {
    let row = u32(b1[2u * ids + 1u + u32(k)]);
    sum += pf(4u) * b0[p(2u) + row * width + i % width];
  }
  b2[at] = sum;`),
  );
  const numbers = [width, starts.rows, starts.table, floatBits(scale)];
  return elementCall(made, ids * width, numbers, 32);
}

const normThreads = 256;

/** Workgroups that {@link squares} has for this many numbers. */
export const squareGroups = (count: number): number => Math.ceil(count / (normThreads * 256));

/**
 * For each workgroup the sum of the squares of its numbers, and 1 if one of them is not finite. Such a number is found
 * by its bits, because WGSL may assume that all numbers are finite. x -> [groups, 2], from group `first` on
 */
export function squares(count: number, start: number, first: number): Call {
  const groups = squareGroups(count);
  const made = kernel({ name: 'squares', reads: ['f32'], writes: ['f32'] }, () =>
    perRow(
      normThreads,
      `
  var sum = 0.0;
  var broken = 0.0;
  let begin = row * ${normThreads * 256}u;
  for (var i = begin + t; i < min(p(1u), begin + ${normThreads * 256}u); i += ${normThreads}u) {
    let x = b0[p(2u) + i];
    if ((bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u) { broken = 1.0; } else { sum = fma(x, x, sum); }
  }
  ${reduceThreads(normThreads, 'sum', 'sum')}
  if (t == 0u) { b1[2u * (p(3u) + row)] = shared_[0]; }
  workgroupBarrier();
  ${reduceThreads(normThreads, 'broken', 'max')}
  if (t == 0u) { b1[2u * (p(3u) + row) + 1u] = shared_[0]; }`,
    ),
  );
  return {
    kernel: made,
    uniforms: [groups, count, start, first],
    groups: foldGroups(groups),
    work: 8 * count,
  };
}

interface Update {
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  readonly gradientScale: number;
  readonly stepSize: number;
  readonly rootCorrection: number;
  readonly keep: number;
}

/** Operands that are only read, in order, keyed by the array that the new weights overwrite. */
export const readBy = {
  from: ['gradient'],
  gradient: ['from'],
  other: ['from', 'gradient'],
} as const;

/** The array that is overwritten with the new weights. */
export type UpdateTarget = keyof typeof readBy;

/** One AdamW update. Operands: those of {@link readBy}, then the new weights and both moments. */
export function adamW(count: number, target: UpdateTarget, update: Update): Call {
  const read: readonly string[] = readBy[target];
  const name = (which: string): string =>
    read.includes(which) ? `b${read.indexOf(which)}` : `b${read.length}`;
  const [to, first, second] = [0, 1, 2].map((i) => `b${read.length + i}`);
  const spec = { name: 'AdamW', variant: target, reads: read.map(() => 'f32' as const) };
  const made = kernel({ ...spec, writes: ['f32', 'f32', 'f32'] }, () =>
    perElement(`
  let g = pf(5u) * ${name('gradient')}[i];
  let m = pf(1u) * ${first}[i] + pf(2u) * g;
  let v = pf(3u) * ${second}[i] + pf(4u) * g * g;
  ${first}[i] = m;
  ${second}[i] = v;
  ${to}[i] = ${name('from')}[i] * pf(6u) - pf(7u) * m / (sqrt(v) / pf(8u) + pf(9u));`),
  );
  const { betas, gradientScale, keep, stepSize, rootCorrection, epsilon } = update;
  const factors = betas.flatMap((beta) => [beta, 1 - beta]);
  const numbers = [...factors, gradientScale, keep, stepSize, rootCorrection, epsilon];
  return elementCall(made, count, numbers.map(floatBits), 40);
}

/** Location of the rows of a cache in an array [rows, ..., heads, positions, width]. */
export interface CacheRows {
  /** Numbers between the starts of two consecutive rows. */
  readonly row: number;
  /** Index of the first head in a row. */
  readonly start: number;
  /** Number of positions of a head. */
  readonly positions: number;
}

/**
 * Copies positions of rows, by a list of moves: (from, to, position, length) each. Operands: the
 * array that is read, unless it is also written; the moves; the array that is written.
 */
export function movedRows(
  sizes: Readonly<Record<'moves' | 'heads' | 'length' | 'width', number>>,
  from: CacheRows,
  to: CacheRows,
  isSame: boolean,
): Call {
  const { moves, heads, length, width } = sizes;
  const [source, list, target] = isSame ? ['b1', 'b0', 'b1'] : ['b0', 'b1', 'b2'];
  const reads = isSame ? (['i32'] as const) : (['f32', 'i32'] as const);
  const made = kernel({ name: 'move rows', reads, writes: ['f32'] }, () =>
    perElement(`
  let d = i % p(1u);
  let s = (i / p(1u)) % p(2u);
  let h = (i / (p(1u) * p(2u))) % p(3u);
  let first = 4u * (i / (p(1u) * p(2u) * p(3u)));
  if (s >= u32(${list}[first + 3u])) { return; }
  let from_row = u32(${list}[first]) * p(4u) + p(5u);
  let to_row = u32(${list}[first + 1u]) * p(7u) + p(8u);
  let position = u32(${list}[first + 2u]) + s;
  ${target}[to_row + (h * p(9u) + position) * p(1u) + d] = ${source}[from_row + (h * p(6u) + s) * p(1u) + d];`),
  );
  const placed = [from, to].flatMap(({ row, start, positions }) => [row, start, positions]);
  return elementCall(made, moves * heads * length * width, [width, length, heads, ...placed]);
}
