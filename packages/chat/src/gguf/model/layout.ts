/**
 * Differences between the tensors of a GGUF file and those of Hugging Face: the order of rows or
 * columns, and values that llama.cpp's converter transforms.
 */
import type { layerParts } from './names.js';

type Architecture = keyof typeof layerParts;

/**
 * Order of the rows (axis 0) or columns (axis 1) of a matrix in a GGUF file. The axis is divided
 * into `groups.length` groups of equal size. Group i in the file is group `groups[i]` in Hugging
 * Face's matrix.
 */
export interface Order {
  readonly axis: 0 | 1;
  readonly groups: readonly number[];
}

/** Dimensions of the gated delta rule in a layer. */
export interface DeltaSizes {
  readonly keyHeads: number;
  readonly keyDim: number;
  readonly valueHeads: number;
  readonly valueDim: number;
}

/** Dimensions of a model on which the order of rows and columns depends. */
export interface LayoutSizes {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Undefined if the model has no gated delta rule. */
  readonly delta: DeltaSizes | undefined;
}

/**
 * Architectures for which llama.cpp applies rotary position embeddings to pairs of adjacent rows.
 * Hugging Face rotates row i of a head's first half with row i of its second half.
 */
const paired: ReadonlySet<Architecture> = new Set(['llama', 'granite', 'mistral3', 'smollm3']);

/**
 * Returns the order of a part of a layer, such as `attn_q`, in the file; undefined if Hugging Face
 * has the same order.
 */
export function orderOf(
  architecture: Architecture,
  part: string,
  { heads, kvHeads, headDim, delta }: LayoutSizes,
): Order | undefined {
  if (paired.has(architecture)) {
    if (part === 'attn_q') return { axis: 0, groups: pairs(heads, headDim) };
    return part === 'attn_k' ? { axis: 0, groups: pairs(kvHeads, headDim) } : undefined;
  }
  if (!delta || delta.keyHeads === delta.valueHeads) return undefined;
  return deltaOrders[part]?.(delta);
}

const pairs = (heads: number, headDim: number): readonly number[] =>
  Array.from({ length: heads * headDim }, (_, row) => {
    const within = row % headDim;
    return row - within + (within % 2) * (headDim / 2) + Math.floor(within / 2);
  });

/**
 * Returns the index of Hugging Face's value head for each value head of llama.cpp. For llama.cpp,
 * adjacent value heads belong to different key heads; for Hugging Face, the value heads of a key
 * head are adjacent.
 */
const valueHeadsOf = ({ keyHeads, valueHeads }: DeltaSizes): readonly number[] =>
  Array.from({ length: valueHeads }, (_, head) => {
    const perKey = valueHeads / keyHeads;
    return (head % keyHeads) * perKey + Math.floor(head / keyHeads);
  });

const byValueHead =
  (axis: Order['axis']) =>
  (delta: DeltaSizes): Order => ({ axis, groups: valueHeadsOf(delta) });

/**
 * Returns the order of the channels of queries, keys and values, of which only the values are
 * reordered.
 */
function channels(delta: DeltaSizes): Order {
  const before = 2 * delta.keyHeads * delta.keyDim;
  const values = valueHeadsOf(delta).flatMap((head) =>
    Array.from({ length: delta.valueDim }, (_, row) => before + head * delta.valueDim + row),
  );
  return { axis: 0, groups: [...Array.from({ length: before }, (_, row) => row), ...values] };
}

const deltaOrders: Readonly<Record<string, (delta: DeltaSizes) => Order>> = {
  attn_qkv: channels,
  ssm_conv1d: channels,
  attn_gate: byValueHead(0),
  ssm_alpha: byValueHead(0),
  ssm_beta: byValueHead(0),
  ssm_a: byValueHead(0),
  ssm_dt: byValueHead(0),
  ssm_out: byValueHead(1),
};

/**
 * Copies a matrix from Hugging Face's order to the order of the file. @param rows number of rows of
 * the matrix
 */
export function toFileOrder<T extends Float32Array | Uint8Array>(
  from: T,
  rows: number,
  { axis, groups }: Order,
): T {
  const lines = axis === 0 ? 1 : rows;
  const size = from.length / lines / groups.length;
  const to = from.slice() as T;
  for (let line = 0; line < lines; line++)
    for (const [place, group] of groups.entries()) {
      const start = line * groups.length;
      const source = (start + group) * size;
      to.set(from.subarray(source, source + size), (start + place) * size);
    }
  return to;
}

/** Returns the inverse of an order. */
export function inverseOf({ axis, groups }: Order): Order {
  const inverse: number[] = [];
  for (const [place, group] of groups.entries()) inverse[group] = place;
  return { axis, groups: inverse };
}

/**
 * Returns true if `length` elements can be divided into the groups of an order, with a whole number
 * of elements per group.
 */
export const isDivisible = (length: number, rows: number, { axis, groups }: Order): boolean =>
  Number.isInteger(length / (axis === 0 ? 1 : rows) / groups.length);

/** Conversion of the elements of a tensor between Hugging Face's values and those of the file. */
interface Values {
  readonly toFile: (value: number) => number;
  readonly fromFile: (value: number) => number;
}

/** Conversion for norms whose weight w transformers uses as 1 + w. The file holds 1 + w. */
const plusOne: Values = { toFile: (w) => w + 1, fromFile: (w) => w - 1 };
/** Conversion for `A_log` of the gated delta rule. The file holds -exp(A_log). */
const negativeExponential: Values = {
  toFile: (log) => -Math.exp(log),
  fromFile: (factor) => Math.log(-factor),
};
const offsetNorms: ReadonlySet<Architecture> = new Set(['gemma2', 'gemma3', 'qwen35']);

/**
 * Returns the conversion of a part's elements; undefined if the file holds the same values as
 * Hugging Face's tensor.
 */
export function valuesOf(architecture: Architecture, part: string): Values | undefined {
  if (part === 'ssm_a') return negativeExponential;
  const isOffset = part.endsWith('norm') && part !== 'ssm_norm' && offsetNorms.has(architecture);
  return isOffset ? plusOne : undefined;
}
