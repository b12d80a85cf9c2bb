/**
 * best@n and worst@n as Trinity-RFT estimates them: 1000 draws with replacement, numpy's generator,
 * seed 42.
 */
import { numpyChoice } from './mt19937.js';

const samples = 1_000;
const seed = 42;

/** Mean over the samples of the largest, and of the smallest, of n values. */
interface Extremes {
  readonly best: number;
  readonly worst: number;
}

/**
 * Estimates both from the k values of one task. The same draws for every task, as in the original.
 */
export type Bootstrap = (values: readonly number[], n: number) => Extremes;

/** With the draws of every k and n made once, and the figures of tasks with equal values. */
export function createBootstrap(): Bootstrap {
  const drawn = new Map<string, Uint32Array>();
  const known = new Map<string, Extremes>();
  return (values, n) => {
    const key = `${n} ${values.join(' ')}`;
    const found = known.get(key);
    if (found) return found;
    const size = `${values.length} ${n}`;
    const sets = drawn.get(size) ?? drawSets(values.length, n);
    drawn.set(size, sets);
    const rising = Int32Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!);
    const extremes = {
      worst: meanOfFirst(sets, rising, values),
      best: meanOfFirst(sets, rising.toReversed(), values),
    };
    known.set(key, extremes);
    return extremes;
  };
}

const wordsOf = (k: number): number => Math.ceil(k / 32);

/** Per sample the set of the indices drawn, a bit each. */
function drawSets(k: number, n: number): Uint32Array {
  const words = wordsOf(k);
  const sets = new Uint32Array(samples * words);
  const draw = numpyChoice(seed, k);
  for (let sample = 0; sample < samples; sample++) {
    for (let count = 0; count < n; count++) {
      const index = draw();
      const word = sample * words + (index >>> 5);
      sets[word] = sets[word]! | (1 << (index & 31));
    }
  }
  return sets;
}

/** Mean over the samples of the value that comes first in `order`. */
function meanOfFirst(sets: Uint32Array, order: Int32Array, values: readonly number[]): number {
  const words = wordsOf(values.length);
  let sum = 0;
  for (let start = 0; start < sets.length; start += words) {
    let place = 0;
    while (((sets[start + (order[place]! >>> 5)]! >>> (order[place]! & 31)) & 1) === 0) place++;
    sum += values[order[place]!]!;
  }
  return sum / samples;
}

/**
 * What {@link createBootstrap} estimates: the expectation of the largest of n draws with
 * replacement from k values, sum over sorted v_(i) of v_(i) ((i/k)^n - ((i-1)/k)^n). For 0/1 values
 * it is below pass@n.
 */
export function expectedBestOfDraws(values: readonly number[], n: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const k = sorted.length;
  return sorted.reduce(
    (sum, value, index) => sum + value * (((index + 1) / k) ** n - (index / k) ** n),
    0,
  );
}
