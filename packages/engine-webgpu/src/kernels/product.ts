/**
 * Matrix products. Every kernel sums in one order: blocks of 256 along K, each ascending in one accumulator, and the
 * sums of blocks in order. The bits of a result therefore depend neither on the number of rows and columns, nor on the
 * kernel that computes it.
 */
import { elementCall, floatBits, foldGroups, kernel, perElement, type Call } from './kernel.js';

interface Product {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly alpha: number;
}

/** Number of products along K that one accumulator sums. */
export const blockDepth = 256;

/** Number of indices of K that a workgroup loads at a time. */
const stepDepth = 16;

/** Fewer workgroups than this leave a GPU partly idle; separate workgroups then compute the blocks of K. */
const busyGroups = 128;

/** Steps of a product: with two, the first writes `partials` numbers, which the second sums. */
interface ProductPlan {
  readonly first: Call;
  readonly partials?: { readonly size: number; readonly sum: Call };
}

export function product(shape: Product): ProductPlan {
  const { batch, rows, columns, depth } = shape;
  if (columns === 1) return thinProduct(shape);
  const tile: Tile = rows <= 16 ? { rows: 16, columns: 32 } : { rows: 64, columns: 64 };
  const tiles = batch * Math.ceil(rows / tile.rows) * Math.ceil(columns / tile.columns);
  const blocks = Math.ceil(depth / blockDepth);
  if (tiles >= busyGroups || blocks === 1) return { first: tiledProduct(shape, tile, 1, tiles) };
  const size = batch * rows * columns;
  return {
    first: tiledProduct(shape, tile, blocks, tiles * blocks),
    partials: { size: size * blocks, sum: sumOfBlocks(size, blocks, shape.alpha) },
  };
}

const operands = ({ transposeA, transposeB }: Product): string => `
fn left(start: u32, m: u32, k: u32) -> f32 {
  if (m >= p(1u) || k >= p(3u)) { return 0.0; }
  return b0[start + ${transposeA ? 'k * p(1u) + m' : 'm * p(3u) + k'}];
}
fn right(start: u32, k: u32, n: u32) -> f32 {
  if (n >= p(2u) || k >= p(3u)) { return 0.0; }
  return b1[start + ${transposeB ? 'n * p(3u) + k' : 'k * p(2u) + n'}];
}`;

const variantOf = ({ transposeA, transposeB }: Product): string =>
  `${transposeA ? 'T' : 'N'}${transposeB ? 'T' : 'N'}`;

/** Uniforms 1 to 5 of products: M, N, K, the size of a right operand, alpha. */
const sizesOf = ({ rows, columns, depth, alpha }: Product): readonly number[] => [
  rows,
  columns,
  depth,
  columns * depth,
  floatBits(alpha),
];

interface Tile {
  readonly rows: number;
  readonly columns: number;
}

/** A thread computes 4 x 4 results of a tile. With several `parts`, each part writes the sums of one block of K. */
function tiledProduct(shape: Product, tile: Tile, parts: number, groups: number): Call {
  const { batch, rows, columns, depth } = shape;
  const name = parts === 1 ? 'product' : 'product of blocks';
  const variant = `${variantOf(shape)} ${tile.rows}x${tile.columns}`;
  const made = kernel({ name, variant, reads: ['f32', 'f32'], writes: ['f32'] }, () =>
    tiledSource(shape, tile, parts > 1),
  );
  return {
    kernel: made,
    uniforms: [groups, ...sizesOf(shape), parts],
    groups: foldGroups(groups),
    work: 2 * batch * rows * columns * depth,
  };
}

function tiledSource(shape: Product, tile: Tile, inParts: boolean): string {
  const [across, down] = [tile.columns / 4, tile.rows / 4];
  const threads = across * down;
  // Neighbouring threads read neighbouring numbers: along K where it is the last dimension.
  const load = (
    name: string,
    wide: number,
    alongDepth: boolean,
    of: (at: string) => string,
  ): string => `
    for (var e = t; e < ${stepDepth * wide}u; e += ${threads}u) {
      let step = ${alongDepth ? `e % ${stepDepth}u` : `e / ${wide}u`};
      let four = ${alongDepth ? `e / ${stepDepth}u` : `e % ${wide}u`};
      let k = k0 + step;
      let at = four * 4u;
      ${name}[step * ${wide}u + four] = vec4f(${[0, 1, 2, 3].map((j) => of(`at + ${j}u`)).join(', ')});
    }`;
  return `${operands(shape)}
var<workgroup> tile_a: array<vec4f, ${stepDepth * down}>;
var<workgroup> tile_b: array<vec4f, ${stepDepth * across}>;
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) t: u32) {
  var g = id.y * groups.x + id.x;
  if (g >= p(0u)) { return; }
  let parts = p(6u);
  let part = g % parts;
  g = g / parts;
  let tiles_n = (p(2u) + ${tile.columns - 1}u) / ${tile.columns}u;
  let tiles_m = (p(1u) + ${tile.rows - 1}u) / ${tile.rows}u;
  let n0 = (g % tiles_n) * ${tile.columns}u;
  let m0 = ((g / tiles_n) % tiles_m) * ${tile.rows}u;
  let matrix = g / (tiles_n * tiles_m);
  let a = matrix * p(1u) * p(3u);
  let b = matrix * p(4u);
  let ty = t / ${across}u;
  let tx = t % ${across}u;
  var total = array<vec4f, 4>();
  ${inParts ? `let first = part * ${blockDepth}u; let end = min(p(3u), first + ${blockDepth}u);` : 'let first = 0u; let end = p(3u);'}
  for (var block = first; block < end; block += ${blockDepth}u) {
    var c0 = vec4f(); var c1 = vec4f(); var c2 = vec4f(); var c3 = vec4f();
    let last = min(end, block + ${blockDepth}u);
    for (var k0 = block; k0 < last; k0 += ${stepDepth}u) {
      ${load('tile_a', down, !shape.transposeA, (at) => `left(a, m0 + ${at}, k)`)}
      ${load('tile_b', across, shape.transposeB, (at) => `right(b, k, n0 + ${at})`)}
      workgroupBarrier();
      for (var k = 0u; k < ${stepDepth}u; k++) {
        let x = tile_a[k * ${down}u + ty];
        let y = tile_b[k * ${across}u + tx];
        c0 = fma(vec4f(x.x), y, c0);
        c1 = fma(vec4f(x.y), y, c1);
        c2 = fma(vec4f(x.z), y, c2);
        c3 = fma(vec4f(x.w), y, c3);
      }
      workgroupBarrier();
    }
    total[0] += c0; total[1] += c1; total[2] += c2; total[3] += c3;
  }
  let out = ((${inParts ? 'part * (p(0u) / (parts * tiles_n * tiles_m)) + ' : ''}matrix) * p(1u)) * p(2u);
  for (var i = 0u; i < 4u; i++) {
    let m = m0 + ty * 4u + i;
    if (m >= p(1u)) { break; }
    for (var j = 0u; j < 4u; j++) {
      let n = n0 + tx * 4u + j;
      if (n < p(2u)) { b2[out + m * p(2u) + n] = total[i][j]${inParts ? '' : ' * pf(5u)'}; }
    }
  }
}`;
}

/** Adds the sums of blocks in order. [blocks, size] -> [size] */
function sumOfBlocks(size: number, blocks: number, alpha: number): Call {
  const made = kernel({ name: 'sum of blocks', reads: ['f32'], writes: ['f32'] }, () =>
    perElement(`
  var total = 0.0;
  for (var block = 0u; block < p(1u); block++) { total += b0[block * p(0u) + i]; }
  b1[i] = total * pf(2u);`),
  );
  return elementCall(made, size, [blocks, floatBits(alpha)], blocks);
}

/** Product with a single column: a thread for each result, or, if K has many blocks, for each block of each result. */
function thinProduct(shape: Product): ProductPlan {
  const { batch, rows, depth, alpha } = shape;
  const size = batch * rows;
  const inBlocks = depth > 4 * blockDepth;
  const blocks = inBlocks ? Math.ceil(depth / blockDepth) : 1;
  const name = inBlocks ? 'thin product of blocks' : 'thin product';
  const spec = { variant: variantOf(shape), reads: ['f32', 'f32'], writes: ['f32'] } as const;
  const made = kernel({ name, ...spec }, () => {
    const body = `
  let element = i % p(6u);
  let a = (element / p(1u)) * p(1u) * p(3u);
  let b = (element / p(1u)) * p(4u);
  let first = (i / p(6u)) * ${blockDepth}u;
  let end = ${inBlocks ? `min(p(3u), first + ${blockDepth}u)` : 'p(3u)'};
  var total = 0.0;
  for (var block = first; block < end; block += ${blockDepth}u) {
    var sum = 0.0;
    for (var k = block; k < min(end, block + ${blockDepth}u); k++) {
      sum = fma(left(a, element % p(1u), k), right(b, k, 0u), sum);
    }
    total += sum;
  }
  b2[i] = total${inBlocks ? '' : ' * pf(5u)'};`;
    return operands(shape) + perElement(body);
  });
  const first = elementCall(made, size * blocks, [...sizesOf(shape), size], (4 * depth) / blocks);
  if (!inBlocks) return { first };
  return { first, partials: { size: size * blocks, sum: sumOfBlocks(size, blocks, alpha) } };
}
