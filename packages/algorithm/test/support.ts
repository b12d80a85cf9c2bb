/** Golden vectors as loss inputs and experiences, and comparisons with the stated tolerance. */
import { readFileSync } from 'node:fs';
import { createExperience, withFields, type Experience, type LossInput } from '@trinity-rft/core';
import { expect } from 'vitest';

export type Matrix = readonly (readonly number[])[];

export interface InputVectors {
  readonly logprob: Matrix;
  readonly old_logprob: Matrix;
  readonly ref_logprob: Matrix;
  readonly action_mask: Matrix;
  readonly advantages: Matrix;
  readonly entropy?: Matrix;
  /** [B] */
  readonly expert_mask?: readonly number[];
  /** The same in every row. [B] */
  readonly step?: readonly number[];
}

export interface ExperienceVector {
  readonly task: number;
  readonly run: number;
  readonly step: number;
  readonly reward: number;
  readonly response_length: number;
  readonly action_mask?: readonly number[];
  readonly logprobs?: readonly number[];
}

export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8')) as T;
}

export function toLossInput(vectors: InputVectors): LossInput {
  const flat = (matrix: Matrix): Float32Array => Float32Array.from(matrix.flat());
  return {
    offsets: Int32Array.from([0, ...vectors.action_mask.map((_, i) => vectors.action_mask.slice(0, i + 1).flat().length)]),
    actionMask: Uint8Array.from(vectors.action_mask.flat()),
    currentLogprobs: flat(vectors.logprob),
    oldLogprobs: flat(vectors.old_logprob),
    refLogprobs: flat(vectors.ref_logprob),
    advantages: flat(vectors.advantages),
    step: vectors.step?.[0] ?? 1,
    ...(vectors.entropy && { entropy: flat(vectors.entropy) }),
    ...(vectors.expert_mask && { expertMask: Uint8Array.from(vectors.expert_mask) }),
  };
}

/** The mask decides the length: some tests of the original state one of another length than the response. */
export function toExperience(vector: ExperienceVector): Experience {
  const actionMask = vector.action_mask ?? Array.from({ length: vector.response_length }, () => 1);
  const experience = createExperience({
    tokens: Array.from({ length: actionMask.length + 1 }, () => 1),
    promptLength: 1,
    actionMask,
    reward: vector.reward,
    eid: { batch: 0, task: vector.task, run: vector.run, step: vector.step },
  });
  // The original's log-probabilities rise from 0; ours may not be above 0. Only their order matters.
  const logprobs = vector.logprobs && Float32Array.from(actionMask, (_, t) => vector.logprobs![t]! - 1);
  return logprobs ? withFields(experience, { logprobs }) : experience;
}

/** Arguments as the YAML has them, under our names. */
export function camelCased(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value]),
  );
}

export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  expect(actual.length).toBe(expected.length);
  const bad = Array.from(expected).findIndex((value, i) => !(Math.abs(actual[i]! - value) <= tolerance * Math.max(1, Math.abs(value))));
  expect(bad < 0 ? 'close' : `entry ${bad}: ${actual[bad]} instead of ${expected[bad]}`).toBe('close');
}

export function expectMetrics(
  actual: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>>,
  tolerance: number,
): void {
  const names = Object.keys(expected);
  expect(Object.keys(actual)).toEqual(expect.arrayContaining(names));
  expectClose(
    names.map((name) => actual[name]!),
    names.map((name) => expected[name]!),
    tolerance,
  );
}
