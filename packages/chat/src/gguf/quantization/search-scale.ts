/**
 * Searches the scales of data types with blocks of 256, by trying several candidates. Computes in
 * float32 throughout and in the order of llama.cpp, so that the bytes are identical.
 * @see ggml-quants.c, `make_qkx2_quants` and `make_qx_quants`
 */

const f = Math.fround;
/**
 * Number that rounds a float32 to a whole number (halves to even) if it is first added and then
 * subtracted.
 */
const roundingTerm = 12_582_912;
/** Absolute value below which a number counts as 0. */
const tiny = f(1e-15);

export const nearest = (value: number): number => f(value + roundingTerm) - roundingTerm;

export const clamp = (value: number, least: number, most: number): number =>
  value < least ? least : value > most ? most : value;

/** Scale and offset of 32 numbers. */
export interface ScaleAndOffset {
  readonly scale: number;
  /** Offset to subtract; 0 or more. */
  readonly offset: number;
  /**
   * Inverse of the scale with which {@link quantised} computes the integers. It may differ from `1
   * / scale`, because `scale` is fitted to these integers afterwards.
   */
  readonly inverse: number;
  readonly least: number;
}

const steps = 20;
/** Highest value of a 4-bit integer. */
const top = 15;
const run = 32;
const weights = new Float32Array(run);

/**
 * Finds the scale and the offset for 32 numbers, so that x_i = scale q_i - offset with q_i from 0
 * to 15. Minimises the squared error, in which numbers of large magnitude have more weight.
 */
export function scaleAndOffset(values: Float32Array, from: number): ScaleAndOffset {
  weigh(values, from);
  const sums = weightedSums(values, from);
  let [least, most] = [values[from]!, values[from]!];
  for (let i = 1; i < run; i++) {
    least = Math.min(least, values[from + i]!);
    most = Math.max(most, values[from + i]!);
  }
  if (least > 0) least = 0;
  if (most === least) return { scale: 0, offset: -least, inverse: 0, least };
  let inverse = f(top / f(most - least));
  let found = { scale: f(1 / inverse), offset: least, inverse, least };
  let best = squares(values, from, found);
  for (let step = 0; step <= steps; step++) {
    // Each trial uses the offset that was found last.
    ({ offset: least } = found);
    inverse = f(f(f(-1 + f(f(0.1) * step)) + top) / f(most - least));
    const fitted = fit(values, from, { inverse, least }, sums);
    if (!fitted) continue;
    const error = squares(values, from, { ...fitted, inverse, least });
    if (error >= best) continue;
    best = error;
    found = { ...fitted, inverse, least };
  }
  return { ...found, offset: -found.offset };
}

function weigh(values: Float32Array, from: number): void {
  let sum = 0;
  for (let i = 0; i < run; i++) sum = f(sum + f(values[from + i]! * values[from + i]!));
  const mean = f(Math.sqrt(f(sum / run)));
  for (let i = 0; i < run; i++) weights[i] = f(mean + Math.abs(values[from + i]!));
}

interface Sums {
  readonly weights: number;
  readonly values: number;
}

function weightedSums(values: Float32Array, from: number): Sums {
  let [sumWeights, sumValues] = [0, 0];
  for (let i = 0; i < run; i++) {
    sumWeights = f(sumWeights + weights[i]!);
    sumValues = f(sumValues + f(weights[i]! * values[from + i]!));
  }
  return { weights: sumWeights, values: sumValues };
}

type Storing = Pick<ScaleAndOffset, 'inverse' | 'least'>;

/** Returns the integer q, from 0 to 15, that represents x. */
export const quantised = (x: number, { inverse, least }: Storing): number =>
  clamp(nearest(f(inverse * f(x - least))), 0, top);

/**
 * Returns the weighted sum of the squared differences between the numbers x and scale q + offset,
 * the values that represent them.
 */
function squares(values: Float32Array, from: number, by: ScaleAndOffset): number {
  let error = 0;
  for (let i = 0; i < run; i++) {
    const x = values[from + i]!;
    const difference = f(f(f(by.scale * quantised(x, by)) + by.offset) - x);
    error = f(error + f(weights[i]! * f(difference * difference)));
  }
  return error;
}

/**
 * Fits scale and offset to the integers by weighted least squares, with an offset of at most 0.
 * Returns undefined if the integers do not determine them.
 */
function fit(
  values: Float32Array,
  from: number,
  by: Storing,
  sums: Sums,
): Pick<ScaleAndOffset, 'scale' | 'offset'> | undefined {
  let [sumQ, sumQQ, sumXQ] = [0, 0, 0];
  for (let i = 0; i < run; i++) {
    const x = values[from + i]!;
    const q = quantised(x, by);
    const weighted = f(weights[i]! * q);
    sumQ = f(sumQ + weighted);
    sumQQ = f(sumQQ + f(weighted * q));
    sumXQ = f(sumXQ + f(weighted * x));
  }
  const determinant = f(f(sums.weights * sumQQ) - f(sumQ * sumQ));
  if (!(determinant > 0)) return undefined;
  const offset = f(f(f(sumQQ * sums.values) - f(sumQ * sumXQ)) / determinant);
  if (offset > 0) return { scale: f(sumXQ / sumQQ), offset: 0 };
  const scale = f(f(f(sums.weights * sumXQ) - f(sums.values * sumQ)) / determinant);
  return { scale, offset };
}

/** Length of a run, which has one scale, in Q6_K. */
const short = 16;
/** Half the number of integers that Q6_K can represent, which are -32 to 31. */
const half = 32;

/** Scale of 16 numbers. */
export interface SignedScale {
  readonly scale: number;
  /**
   * Inverse of the scale with which {@link signedQuantised} computes the integers. It may differ
   * from `1 / scale`, because `scale` is fitted to these integers afterwards.
   */
  readonly inverse: number;
}

/**
 * Finds the scale for 16 numbers, so that x_i = scale q_i with q_i from -32 to 31. Minimises the
 * squared error, in which each number has its square as weight. Returns undefined if all numbers
 * count as 0.
 */
export function signedScale(values: Float32Array, from: number): SignedScale | undefined {
  let [largest, signed] = [0, 0];
  for (let i = 0; i < short; i++) {
    const size = Math.abs(values[from + i]!);
    if (size > largest) [largest, signed] = [size, values[from + i]!];
  }
  if (largest < tiny) return undefined;
  let inverse = f(-half / signed);
  let { scale, product } = project(values, from, inverse);
  let best = f(scale * product);
  for (let step = -9; step <= 9; step++) {
    if (step === 0) continue;
    const tried = f(-f(half + f(f(0.1) * step)) / signed);
    const found = project(values, from, tried);
    if (!(found.squares > 0 && f(found.product * found.product) > f(best * found.squares)))
      continue;
    ({ scale, product } = found);
    best = f(scale * product);
    inverse = tried;
  }
  return { scale, inverse };
}

/** Returns the integer q, from -32 to 31, that represents x. */
export const signedQuantised = (x: number, inverse: number): number =>
  clamp(nearest(f(inverse * x)), -half, half - 1);

interface Projection {
  readonly scale: number;
  readonly product: number;
  readonly squares: number;
}

/** Computes the integers with `inverse`, and the scale that fits them best. */
function project(values: Float32Array, from: number, inverse: number): Projection {
  let [product, sum] = [0, 0];
  for (let i = 0; i < short; i++) {
    const x = values[from + i]!;
    const q = signedQuantised(x, inverse);
    const weight = f(x * x);
    product = f(product + f(f(weight * x) * q));
    sum = f(sum + f(f(weight * q) * q));
  }
  return { scale: sum === 0 ? 0 : f(product / sum), product, squares: sum };
}
