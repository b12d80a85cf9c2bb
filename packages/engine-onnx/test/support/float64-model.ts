/**
 * Log-probabilities of a llama model with adapters, and their gradients, in float64 and plain loops: a reference
 * that shares no code with graphs, operators or autodiff.
 */
import type { ModelConfig } from '../../src/model/config.js';

/** A matrix or vector of the model. [out, in]; of vectors `columns` is 1 */
export interface Weight {
  readonly columns: number;
  /** Factors of the rounded activations. */
  readonly numbers: ArrayLike<number>;
  /** Factors of activations that are not rounded. @default no offsets */
  readonly offsets?: ArrayLike<number>;
  /** Size of a block. @default activations are not rounded for this weight */
  readonly block?: number;
}

export interface Float64Model {
  readonly config: ModelConfig;
  readonly weights: ReadonlyMap<string, Weight>;
  /** Factors of scale B A, by the name of the adapted matrix. A [r, in], B [out, r] */
  readonly adapters: ReadonlyMap<string, Factors>;
  readonly scale: number;
  /**
   * True to round the activations that are multiplied with blocks to 8 bits, in the same blocks, like
   * `accuracy_level` 4.
   */
  readonly roundsActivations: boolean;
}

/** Rows of numbers, with the gradient of the result. */
interface Rows {
  readonly value: Float64Array;
  readonly gradient: Float64Array;
  readonly width: number;
}

const rowsOf = (value: Float64Array, width: number): Rows => ({
  value,
  gradient: new Float64Array(value.length),
  width,
});

/** Backward functions of the operations, in the order of the forward pass. */
type Tape = (() => void)[];

/** Numbers of an adapter, or their gradients. */
export interface Factors {
  readonly a: Float64Array;
  readonly b: Float64Array;
}

export interface Scored {
  /** One log-probability per token after the first. [T - 1] */
  readonly logprobs: Float64Array;
  /** Gradients of the sum of `by` times `logprobs`; the rounding of activations is ignored. */
  backward(by: ArrayLike<number>): ReadonlyMap<string, Factors>;
}

export function scoreInFloat64(
  model: Float64Model,
  tokens: Int32Array,
  temperature: number,
): Scored {
  const { config, weights } = model;
  const tape: Tape = [];
  const gradients = new Map(
    [...model.adapters].map(([name, { a, b }]) => [
      name,
      { a: new Float64Array(a.length), b: new Float64Array(b.length) },
    ]),
  );
  const run: Run = { ...model, tape, gradients };
  const table = weights.get('model.embed_tokens.weight')!;
  const width = config.hiddenSize;
  const embedded = Float64Array.from({ length: tokens.length * width }, (_, i) =>
    entry(table, tokens[Math.floor(i / width)]! * width + (i % width)),
  );
  let x = rowsOf(embedded, width);
  for (let layer = 0; layer < config.layers; layer++) {
    const name = (part: string): string => `model.layers.${layer}.${part}.weight`;
    const product = (of: Rows, part: string): Rows => linear(run, of, name(part));
    const before = norm(run, x, name('input_layernorm'));
    const [q, k, v] = ['q', 'k', 'v'].map((each) => product(before, `self_attn.${each}_proj`));
    const read = attention(run, rotary(run, q!), rotary(run, k!), v!);
    x = sum(run, x, product(read, 'self_attn.o_proj'));
    const after = norm(run, x, name('post_attention_layernorm'));
    const inner = gated(run, product(after, 'mlp.gate_proj'), product(after, 'mlp.up_proj'));
    x = sum(run, x, product(inner, 'mlp.down_proj'));
  }
  const states = norm(run, x, 'model.norm.weight');
  const logits = linear(run, states, 'model.embed_tokens.weight');
  const { logprobs, seed } = scores(logits, tokens, temperature);
  return {
    logprobs,
    backward: (by) => {
      seed(by);
      for (const step of tape.toReversed()) step();
      return gradients;
    },
  };
}

interface Run extends Float64Model {
  readonly tape: Tape;
  readonly gradients: ReadonlyMap<string, Factors>;
}

const entry = ({ numbers, offsets }: Weight, at: number): number =>
  numbers[at]! + (offsets?.[at] ?? 0);

/** to[i, o] += factor sum of x[i, c] w[o, c] */
function addProduct(
  to: Float64Array,
  x: Float64Array,
  w: ArrayLike<number>,
  columns: number,
  factor = 1,
): void {
  const out = w.length / columns;
  for (let i = 0; i < x.length / columns; i++)
    for (let o = 0; o < out; o++) {
      let total = 0;
      for (let c = 0; c < columns; c++) total += x[i * columns + c]! * w[o * columns + c]!;
      to[i * out + o]! += factor * total;
    }
}

/** to[i, c] += factor sum of g[i, o] w[o, c] */
function addBack(
  to: Float64Array,
  g: Float64Array,
  w: ArrayLike<number>,
  columns: number,
  factor = 1,
): void {
  const out = w.length / columns;
  for (let i = 0; i < g.length / out; i++)
    for (let o = 0; o < out; o++)
      for (let c = 0; c < columns; c++)
        to[i * columns + c]! += factor * g[i * out + o]! * w[o * columns + c]!;
}

/** to[o, c] += factor sum of g[i, o] x[i, c] */
function addOuter(
  to: Float64Array,
  g: Float64Array,
  x: Float64Array,
  columns: number,
  factor: number,
): void {
  const out = to.length / columns;
  for (let i = 0; i < x.length / columns; i++)
    for (let o = 0; o < out; o++)
      for (let c = 0; c < columns; c++)
        to[o * columns + c]! += factor * g[i * out + o]! * x[i * columns + c]!;
}

/** Q(x) + scale B (A x). */
function linear(run: Run, x: Rows, name: string): Rows {
  const { columns, numbers, offsets, block } = run.weights.get(name)!;
  const out = numbers.length / columns;
  const y = rowsOf(new Float64Array((x.value.length / columns) * out), out);
  const isRounded = run.roundsActivations && block !== undefined;
  addProduct(y.value, isRounded ? rounded(x, block) : x.value, numbers, columns);
  if (offsets) addProduct(y.value, x.value, offsets, columns);
  run.tape.push(() => {
    addBack(x.gradient, y.gradient, numbers, columns);
    if (offsets) addBack(x.gradient, y.gradient, offsets, columns);
  });
  const factors = run.adapters.get(name);
  if (!factors) return y;
  const { a, b } = factors;
  const { scale } = run;
  const rank = a.length / columns;
  const low = new Float64Array((x.value.length / columns) * rank);
  addProduct(low, x.value, a, columns);
  addProduct(y.value, low, b, rank, scale);
  const gradient = run.gradients.get(name)!;
  run.tape.push(() => {
    const back = new Float64Array(low.length);
    addBack(back, y.gradient, b, rank, scale);
    addBack(x.gradient, back, a, columns);
    addOuter(gradient.a, back, x.value, columns, 1);
    addOuter(gradient.b, y.gradient, low, rank, scale);
  });
  return y;
}

/** Rounds each number of a block to a multiple of the block's largest number / 127. */
function rounded({ value, width }: Rows, block: number): Float64Array {
  const found = new Float64Array(value.length);
  for (let row = 0; row < value.length; row += width)
    for (let start = row; start < row + width; start += block) {
      const part = value.subarray(start, Math.min(start + block, row + width));
      const scale = part.reduce((most, each) => Math.max(most, Math.abs(each)), 0) / 127;
      part.forEach((each, i) => (found[start + i] = scale && scale * Math.round(each / scale)));
    }
  return found;
}

function sum({ tape }: Run, x: Rows, y: Rows): Rows {
  const z = rowsOf(
    x.value.map((value, i) => value + y.value[i]!),
    x.width,
  );
  tape.push(() => {
    for (const each of [x, y]) z.gradient.forEach((g, i) => (each.gradient[i]! += g));
  });
  return z;
}

function norm({ tape, weights, config }: Run, x: Rows, name: string): Rows {
  const { width } = x;
  const { numbers } = weights.get(name)!;
  const y = rowsOf(new Float64Array(x.value.length), width);
  const inverse = new Float64Array(x.value.length / width);
  for (let row = 0; row < inverse.length; row++) {
    const part = x.value.subarray(row * width, (row + 1) * width);
    const squares = part.reduce((total, each) => total + each * each, 0);
    inverse[row] = 1 / Math.sqrt(squares / width + config.normEpsilon);
    part.forEach((each, i) => (y.value[row * width + i] = each * inverse[row]! * numbers[i]!));
  }
  tape.push(() => {
    for (let row = 0; row < inverse.length; row++) {
      const [at, by] = [row * width, inverse[row]!];
      let dot = 0;
      for (let i = 0; i < width; i++) dot += y.gradient[at + i]! * numbers[i]! * x.value[at + i]!;
      for (let i = 0; i < width; i++)
        x.gradient[at + i]! +=
          by * (y.gradient[at + i]! * numbers[i]! - (x.value[at + i]! * dot * by * by) / width);
    }
  });
  return y;
}

/** Rotates number i of the first half of a head with number i of the second. */
function rotary({ tape, config }: Run, x: Rows): Rows {
  const { headDim, ropeTheta } = config;
  const half = headDim / 2;
  const y = rowsOf(new Float64Array(x.value.length), x.width);
  const turn = (from: Float64Array, to: Float64Array, sign: number): void => {
    for (let start = 0; start < from.length; start += headDim)
      for (let i = 0; i < half; i++) {
        const angle = Math.floor(start / x.width) * ropeTheta ** (-i / half) * sign;
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        const [first, second] = [from[start + i]!, from[start + half + i]!];
        to[start + i]! += first * cos - second * sin;
        to[start + half + i]! += second * cos + first * sin;
      }
  };
  turn(x.value, y.value, 1);
  tape.push(() => turn(y.gradient, x.gradient, -1));
  return y;
}

function attention({ tape, config }: Run, q: Rows, k: Rows, v: Rows): Rows {
  const { heads, kvHeads, headDim } = config;
  const time = q.value.length / q.width;
  const y = rowsOf(new Float64Array(q.value.length), q.width);
  const scale = 1 / Math.sqrt(headDim);
  for (let head = 0; head < heads; head++)
    for (let at = 0; at < time; at++) {
      const query = at * q.width + head * headDim;
      const key = (past: number): number =>
        past * k.width + Math.floor((head * kvHeads) / heads) * headDim;
      const shares = Float64Array.from({ length: at + 1 }, (_, past) => {
        let dot = 0;
        for (let i = 0; i < headDim; i++) dot += q.value[query + i]! * k.value[key(past) + i]!;
        return dot * scale;
      });
      softmax(shares);
      for (let past = 0; past <= at; past++)
        for (let i = 0; i < headDim; i++)
          y.value[query + i]! += shares[past]! * v.value[key(past) + i]!;
      tape.push(() => {
        const slopes = shares.map((_, past) => {
          let dot = 0;
          for (let i = 0; i < headDim; i++) dot += y.gradient[query + i]! * v.value[key(past) + i]!;
          return dot;
        });
        const mean = slopes.reduce((total, slope, past) => total + slope * shares[past]!, 0);
        for (let past = 0; past <= at; past++) {
          const g = shares[past]! * (slopes[past]! - mean) * scale;
          for (let i = 0; i < headDim; i++) {
            v.gradient[key(past) + i]! += shares[past]! * y.gradient[query + i]!;
            q.gradient[query + i]! += g * k.value[key(past) + i]!;
            k.gradient[key(past) + i]! += g * q.value[query + i]!;
          }
        }
      });
    }
  return y;
}

/** Softmax in place; returns the logarithm of the sum of exponentials. */
function softmax(numbers: Float64Array): number {
  const most = numbers.reduce((a, b) => Math.max(a, b));
  const total = numbers.reduce((all, each) => all + Math.exp(each - most), 0);
  for (let i = 0; i < numbers.length; i++) numbers[i] = Math.exp(numbers[i]! - most) / total;
  return most + Math.log(total);
}

/** silu(gate) up */
function gated({ tape }: Run, gate: Rows, up: Rows): Rows {
  const open = gate.value.map((x) => 1 / (1 + Math.exp(-x)));
  const y = rowsOf(
    gate.value.map((x, i) => x * open[i]! * up.value[i]!),
    gate.width,
  );
  tape.push(() => {
    y.gradient.forEach((g, i) => {
      const [x, s] = [gate.value[i]!, open[i]!];
      gate.gradient[i]! += g * up.value[i]! * (s + x * s * (1 - s));
      up.gradient[i]! += g * x * s;
    });
  });
  return y;
}

function scores(logits: Rows, tokens: Int32Array, temperature: number) {
  const { width } = logits;
  const shares = logits.value.map((x) => x / temperature);
  const rows = Array.from({ length: tokens.length - 1 }, (_, i) =>
    shares.subarray(i * width, (i + 1) * width),
  );
  const logprobs = Float64Array.from(rows, (row, i) => {
    const own = row[tokens[i + 1]!]!;
    return own - softmax(row);
  });
  const seed = (by: ArrayLike<number>): void => {
    for (const [i, row] of rows.entries())
      row.forEach((share, token) => {
        const hit = Number(token === tokens[i + 1]);
        logits.gradient[i * width + token]! += (by[i]! * (hit - share)) / temperature;
      });
  };
  return { logprobs, seed };
}
