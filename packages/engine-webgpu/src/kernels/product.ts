/**
 * Matrix products. All kernels sum in the same order: the products along K are divided into blocks
 * of 256, each block is summed in ascending order in one accumulator, and the sums of the blocks
 * are added in order. The bits of a result therefore depend neither on the number of rows and
 * columns nor on the kernel that computes it.
 */
import { floatBits, perElement, perRow, type Call } from './kernel.js';

interface Product {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly alpha: number;
}

/** Number of products along K that are summed in one accumulator. */
export const blockDepth = 256;

/** Number of indices along K that a workgroup loads at a time. */
const stepDepth = 16;

/**
 * Number of workgroups that keep a GPU busy. If a product has fewer tiles, separate workgroups
 * compute its blocks along K.
 */
const busyGroups = 128;

/**
 * Dispatches of a product. If `partials` is set, `first` writes `partials.size` partial sums, which
 * `partials.sum` adds up.
 */
interface ProductPlan {
  readonly first: Call;
  readonly partials?: { readonly size: number; readonly sum: Call };
}

export function product(shape: Product): ProductPlan {
  const { batch, rows, columns, depth, alpha } = shape;
  const tile = tileOf(shape);
  const tiles = batch * Math.ceil(rows / tile.rows) * Math.ceil(columns / tile.columns);
  const blocks = Math.max(1, Math.ceil(depth / blockDepth));
  const parts = tiles >= busyGroups ? 1 : blocks;
  const first = tiledProduct(shape, tile, tiles, parts);
  if (parts === 1) return { first };
  const size = batch * rows * columns;
  return { first, partials: { size: size * parts, sum: sumOfParts(size, parts, alpha) } };
}

/** Size of the block of the result matrix that one workgroup computes. */
interface Tile {
  readonly rows: number;
  readonly columns: number;
}

function tileOf({ rows, columns }: Product): Tile {
  if (columns <= 4) return { rows: 128, columns: 4 };
  return rows <= 16 ? { rows: 16, columns: 32 } : { rows: 64, columns: 64 };
}

/**
 * Returns the uniforms 1 to 11 of a product kernel: M, N and K (1 to 3), the number of elements of
 * one right matrix (4), the factor of the sums (5), the number of parts along K (6), the strides of
 * both operands (7 to 10), and the number of indices along K per part (11).
 */
function uniformsOf(shape: Product, parts: number): readonly number[] {
  const { rows, columns, depth, transposeA, transposeB, alpha } = shape;
  const factor = floatBits(parts === 1 ? alpha : 1);
  const left = transposeA ? [1, rows] : [depth, 1];
  const right = transposeB ? [1, depth] : [columns, 1];
  const span = parts === 1 ? depth : blockDepth;
  return [rows, columns, depth, columns * depth, factor, parts, ...left, ...right, span];
}

const operands = `
fn left(start: u32, m: u32, k: u32) -> f32 {
  if (m >= p(1u) || k >= p(3u)) { return 0.0; }
  return b0[start + m * p(7u) + k * p(8u)];
}
fn right(start: u32, k: u32, n: u32) -> f32 {
  if (n >= p(2u) || k >= p(3u)) { return 0.0; }
  return b1[start + k * p(9u) + n * p(10u)];
}`;

/**
 * Creates the call of the kernel in which each thread computes 4 x 4 elements of a tile. If `parts`
 * is more than 1, each part writes the partial sums of one block along K.
 */
function tiledProduct(shape: Product, tile: Tile, tiles: number, parts: number): Call {
  const { batch, rows, columns, depth } = shape;
  const [across, down] = [tile.columns / 4, tile.rows / 4];
  const threads = across * down;
  // Neighbouring threads read neighbouring numbers, which are along K if the stride of K is 1.
  const load = (name: string, wide: number, stride: number, of: (at: string) => string) => `
    for (var e = t; e < ${stepDepth * wide}u; e += ${threads}u) {
      let is_deep = p(${stride}u) == 1u;
      let step = select(e / ${wide}u, e % ${stepDepth}u, is_deep);
      let four = select(e % ${wide}u, e / ${stepDepth}u, is_deep);
      let k = k0 + step;
      let at = four * 4u;
      ${name}[step * ${wide}u + four] = vec4f(${[0, 1, 2, 3].map((j) => of(`at + ${j}u`)).join(', ')});
    }`;
  const outside = `${operands}
var<workgroup> tile_a: array<vec4f, ${stepDepth * down}>;
var<workgroup> tile_b: array<vec4f, ${stepDepth * across}>;`;
  const body = `
  let parts = p(6u);
  let part = row % parts;
  let g = row / parts;
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
  let first = part * p(11u);
  let end = min(p(3u), first + p(11u));
  for (var block = first; block < end; block += ${blockDepth}u) {
    var c0 = vec4f(); var c1 = vec4f(); var c2 = vec4f(); var c3 = vec4f();
    let last = min(end, block + ${blockDepth}u);
    for (var k0 = block; k0 < last; k0 += ${stepDepth}u) {
      ${load('tile_a', down, 8, (at) => `left(a, m0 + ${at}, k)`)}
      ${load('tile_b', across, 9, (at) => `right(b, k, n0 + ${at})`)}
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
  let out = (part * (p(0u) / (parts * tiles_n * tiles_m)) + matrix) * p(1u) * p(2u);
  for (var i = 0u; i < 4u; i++) {
    let m = m0 + ty * 4u + i;
    if (m >= p(1u)) { break; }
    for (var j = 0u; j < 4u; j++) {
      let n = n0 + tx * 4u + j;
      if (n < p(2u)) { b2[out + m * p(2u) + n] = total[i][j] * pf(5u); }
    }
  }`;
  const cost = (2 * batch * rows * columns * depth) / (tiles * parts);
  const name = `product ${tile.rows}x${tile.columns}`;
  const spec = { name, types: 'f32 f32 -> f32', cost, threads, outside };
  return perRow(spec, [tiles * parts, ...uniformsOf(shape, parts)], body);
}

/** Adds the partial sums in order. [parts, size] -> [size] */
function sumOfParts(size: number, parts: number, alpha: number): Call {
  const body = `
  var total = 0.0;
  for (var part = 0u; part < p(1u); part++) { total += b0[part * p(0u) + i]; }
  b1[i] = total * pf(2u);`;
  const spec = { name: 'sum of parts', types: 'f32 -> f32', cost: parts };
  return perElement(spec, [size, parts, floatBits(alpha)], body);
}
