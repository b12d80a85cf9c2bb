/**
 * Draws a token from a distribution in TypeScript. Applies top-k, then top-p, and then uses one
 * uniform random number. Sums are float64.
 */
import type { TokenLogprob } from '@trinity-rft/core/engine';

export interface DrawOptions {
  /**
   * True to take the most probable token. Among equally probable tokens, takes the one with the
   * smallest id. The reported log-probabilities are the same as for a random draw.
   */
  readonly greedy: boolean;
  /** Cumulative probability for top-p sampling, in (0, 1]. */
  readonly topP: number;
  /** Number of most probable tokens for top-k sampling; Infinity for all. */
  readonly topK: number;
  /** Ids that must not be drawn. */
  readonly forbidden?: ReadonlySet<number> | undefined;
  /** 1 for each id that may be drawn. [V] @default all ids */
  readonly allowed?: Uint8Array | undefined;
  /** Number of most probable tokens to report. */
  readonly topLogprobs: number;
}

export interface Draw {
  readonly token: number;
  /**
   * Natural log of the token's probability in the distribution from which it was drawn; NaN if a
   * kept log-probability is NaN.
   */
  readonly logprob: number;
  /**
   * The most probable tokens of the distribution from which the token was drawn, in descending
   * order of probability. Equally probable tokens are in the order of their ids.
   */
  readonly top?: readonly TokenLogprob[];
}

/**
 * Draws a token. Unless `greedy` is set, takes the first token, by id, whose cumulative probability
 * exceeds `uniform` times the total. No token of probability 0 can be drawn, and rounding of the
 * total favours no token. Graphs that draw tokens follow the same rule in float32. They therefore
 * draw the same token unless `uniform` is within rounding of a boundary.
 * @param logprobs [V]
 * @param uniform in [0, 1)
 */
export function drawToken(logprobs: Float32Array, uniform: number, options: DrawOptions): Draw {
  const permitted = permittedOf(logprobs, options);
  const isRestricted = permitted !== logprobs;
  const shift = isRestricted ? shiftOf(permitted) : 0;
  const weights = Float64Array.from(permitted, (logprob) => Math.exp(logprob - shift));
  const all = sum(weights);
  const kept = keepNucleus(keepTopK(weights, options.topK), weights, options.topP, all);
  if (kept !== undefined) dropOthers(weights, kept);
  const total = kept === undefined ? all : sum(weights);
  // A complete distribution keeps the graph's log-probabilities, which equal those of the trainer
  // to the last bit.
  const logTotal = kept === undefined && !isRestricted ? 0 : Math.log(total);
  const token = options.greedy ? argMax(weights) : firstAbove(weights, uniform * total);
  const logprob = (id: number): number => logprobs[id]! - shift - logTotal;
  const drawn = { token, logprob: Number.isNaN(total) ? NaN : logprob(token) };
  if (options.topLogprobs === 0) return drawn;
  const best = keepTopK(weights, options.topLogprobs) ?? Int32Array.from(weights, (_, id) => id);
  const ranked = sortByWeight(best, weights).filter((id) => weights[id]! > 0);
  return { ...drawn, top: Array.from(ranked, (id) => ({ token: id, logprob: logprob(id) })) };
}

/**
 * Returns the log-probabilities with -Infinity for ids that must not be drawn, or the array itself
 * if all ids may be drawn.
 */
function permittedOf(
  logprobs: Float32Array,
  { forbidden, allowed }: Pick<DrawOptions, 'forbidden' | 'allowed'>,
): Float32Array {
  if (!forbidden?.size && !allowed) return logprobs;
  const permitted = logprobs.map((logprob, id) => (allowed?.[id] === 0 ? -Infinity : logprob));
  for (const id of forbidden ?? []) permitted[id] = -Infinity;
  return permitted;
}

/**
 * If the log-probability of the best permitted id is below this threshold, weights come near to the
 * smallest normal float64, exp(-708).
 */
const smallestLogprob = -600;

/**
 * Returns the number to subtract from permitted log-probabilities, so that the weight of the best
 * one does not underflow. The number is 0, which changes no bits, unless the model gives almost all
 * of its probability to ids that must not be drawn.
 */
function shiftOf(permitted: Float32Array): number {
  const best = permitted.reduce((most, logprob) => Math.max(most, logprob), -Infinity);
  return best < smallestLogprob ? best : 0;
}

function sum(weights: Float64Array): number {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i]!;
  return total;
}

/**
 * Returns the ids of the `count` largest weights, unordered. Among equal weights, smaller ids are
 * preferred. Returns undefined if this includes all ids.
 */
function keepTopK(weights: Float64Array, count: number): Int32Array | undefined {
  if (count >= weights.length) return undefined;
  const heap = new Int32Array(count); // The root is the worst of the kept ids.
  for (let id = 0; id < count; id++) heap[id] = id;
  for (let at = (count >> 1) - 1; at >= 0; at--) siftDown(heap, at, weights);
  for (let id = count; id < weights.length; id++) {
    if (weights[id]! > weights[heap[0]!]!) {
      heap[0] = id;
      siftDown(heap, 0, weights);
    }
  }
  return heap;
}

function siftDown(heap: Int32Array, start: number, weights: Float64Array): void {
  for (let at = start; ;) {
    let worst = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && isWorse(heap[child]!, heap[worst]!, weights)) worst = child;
    }
    if (worst === at) return;
    [heap[at], heap[worst]] = [heap[worst]!, heap[at]!];
    at = worst;
  }
}

function isWorse(a: number, b: number, weights: Float64Array): boolean {
  return weights[a]! < weights[b]! || (weights[a] === weights[b] && a > b);
}

/**
 * Returns the smallest set of most probable ids whose share of the candidates' probability reaches
 * `topP`. Returns undefined if this includes all tokens.
 */
function keepNucleus(
  candidates: Int32Array | undefined,
  weights: Float64Array,
  topP: number,
  all: number,
): Int32Array | undefined {
  if (topP >= 1) return candidates;
  const total = candidates?.reduce((share, id) => share + weights[id]!, 0) ?? all;
  // All tokens below this bound together have less than 1 - topP of the probability, so the set
  // never needs them. Most of a vocabulary is therefore not sorted.
  const bound = ((1 - topP) * total) / weights.length;
  const ids = sortByWeight(
    (candidates ?? Int32Array.from(weights, (_, id) => id)).filter((id) => weights[id]! >= bound),
    weights,
  );
  let share = 0;
  let count = 0;
  while (count < ids.length && share < topP * total) share += weights[ids[count++]!]!;
  return ids.subarray(0, count);
}

function sortByWeight(ids: Int32Array, weights: Float64Array): Int32Array {
  return ids.toSorted((a, b) => weights[b]! - weights[a]! || a - b);
}

function dropOthers(weights: Float64Array, kept: Int32Array): void {
  const values = Array.from(kept, (id) => weights[id]!);
  weights.fill(0);
  kept.forEach((id, i) => (weights[id] = values[i]!));
}

function firstAbove(weights: Float64Array, target: number): number {
  let cumulative = 0;
  let last = 0;
  for (let id = 0; id < weights.length; id++) {
    if (weights[id] === 0) continue;
    cumulative += weights[id]!;
    last = id;
    if (cumulative > target) return id;
  }
  return last;
}

function argMax(weights: Float64Array): number {
  let best = 0;
  for (let id = 1; id < weights.length; id++) if (weights[id]! > weights[best]!) best = id;
  return best;
}
