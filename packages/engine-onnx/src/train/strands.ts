/** Input of one row of a gradient graph: a row of the batch, or rows of one prompt, which is read once. */
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { keptPerLayer, transientPerLayer } from './memory.js';
import type { Row } from './rows.js';

export interface Strand {
  readonly rows: readonly Row[];
  /** For each row its first input that predicts a response token. */
  readonly starts: readonly number[];
  /** Inputs that all rows see; 0 for a single row. */
  readonly shared: number;
  /** Inputs: of each row its tokens without the last, and without what is shared. */
  readonly length: number;
  /** Response tokens. */
  readonly count: number;
}

export function singleStrand(row: Row): Strand {
  const length = row.tokens.length - 1;
  return { rows: [row], starts: [row.promptLength - 1], shared: 0, length, count: row.count };
}

/** The rows share all of their prompt but its last token, which predicts the response of each. */
function sharedStrand(rows: readonly Row[]): Strand {
  const shared = (rows[0]?.promptLength ?? 1) - 1;
  let length = shared;
  const starts = rows.map(({ count }) => (length += count) - count);
  return { rows, starts, shared, length, count: length - shared };
}

/**
 * Rows of the same prompt in strands, as many in each as cost least; by themselves unless that saves a
 * third of the work, because wider attention costs more than it seems.
 */
export function strandsOf(rows: readonly Row[], config: ModelConfig): readonly Strand[] {
  const { perPosition, perScore } = operationsOf(config);
  if (perPosition < leastOperations) return rows.map(singleStrand);
  const work = (strands: readonly Strand[]): number =>
    strands.reduce((sum, { length }) => sum + length * (perPosition + perScore * length), 0);
  const groups = Map.groupBy(rows, ({ tokens, promptLength }) =>
    tokens.subarray(0, promptLength).join(),
  );
  return [...groups.values()].flatMap((group) => {
    const single = group.map(singleStrand);
    if (group[0]?.promptLength === 1) return single;
    const plans = halvings(group.length).map((size) => strandsOfSize(group, size));
    const best = plans.reduce((a, b) => (work(b) < work(a) ? b : a), single);
    return work(best) <= mostOfSingle * work(single) ? best : single;
  });
}

const mostOfSingle = 2 / 3;
/** Least operations of a position in a layer: with fewer, time goes into calls more than into arithmetic. */
const leastOperations = 1e6;

const halvings = (count: number): readonly number[] =>
  count < 2 ? [] : [count, ...halvings(Math.ceil(count / 2))];

const strandsOfSize = (rows: readonly Row[], size: number): readonly Strand[] =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, i) =>
    sharedStrand(rows.slice(i * size, (i + 1) * size)),
  );

/** Floating-point operations in the time in which one number is read and written. */
const operationsPerValue = 60;
/** Arrays of attention scores that a layer and its gradient write. */
const scoreArrays = 10;

/** Operations for the gradients of one layer: for a position, and for each position that it sees. */
function operationsOf(config: ModelConfig) {
  const { layers, heads, headDim, hiddenSize, vocabSize } = config;
  const weights = (parameterCount(config) - vocabSize * hiddenSize) / layers;
  const values = keptPerLayer(config, 0) + transientPerLayer(config, 0);
  return {
    perPosition: 6 * weights + operationsPerValue * values,
    perScore: heads * (12 * headDim + operationsPerValue * scoreArrays),
  };
}
