/**
 * Reverse-mode differentiation. Visits the values from last to first and sums the gradients that
 * their pullbacks return.
 */
import { InvariantError } from '@trinity-rft/core';
import type { Value } from './graph/graph.js';
import { add } from './ops/elementwise.js';

/**
 * A value from which differentiation starts, and the gradient of the differentiated scalar with
 * respect to it.
 */
export interface Seed {
  readonly value: Value;
  readonly gradient: Value;
}

/**
 * Returns the gradients of one scalar L with respect to `targets`, given dL/dvalue of every seed.
 * Adds the nodes that compute these gradients to the same graph.
 * @throws InvariantError when there is a target on which no seed depends
 */
export function gradients(seeds: readonly Seed[], targets: readonly Value[]): readonly Value[] {
  const relevant = reaching(seeds, new Set(targets));
  const sums = new Map<Value, Value>();
  const accumulate = (value: Value, gradient: Value): void => {
    const sum = sums.get(value);
    sums.set(value, sum ? add(sum, gradient) : gradient);
  };
  for (const seed of seeds) accumulate(seed.value, seed.gradient);
  // Ids descend, so a value's gradient is complete before it is passed on.
  for (const value of relevant) {
    const gradient = sums.get(value);
    if (!gradient || !value.source) continue;
    const parts = value.source.pullback(gradient);
    for (const [i, input] of value.source.inputs.entries()) {
      const part = parts[i];
      if (part && relevant.has(input)) accumulate(input, part);
    }
  }
  return targets.map((target) => {
    const gradient = sums.get(target);
    if (!gradient)
      throw new InvariantError(
        `The seeds do not depend on a target of shape [${target.shape.join(', ')}].`,
      );
    return gradient;
  });
}

/** Returns the values between seeds and targets, inclusive, latest first. */
function reaching(seeds: readonly Seed[], targets: ReadonlySet<Value>): ReadonlySet<Value> {
  const seen = new Set<Value>();
  const open = seeds.map((seed) => seed.value);
  for (let value = open.pop(); value; value = open.pop()) {
    if (seen.has(value)) continue;
    seen.add(value);
    open.push(...(value.source?.inputs ?? []));
  }
  const ascending = [...seen].sort((a, b) => a.id - b.id);
  const reached = new Set<Value>();
  for (const value of ascending) {
    if (targets.has(value) || value.source?.inputs.some((input) => reached.has(input)))
      reached.add(value);
  }
  return new Set([...reached].sort((a, b) => b.id - a.id));
}
