/** Compares scores and gradients of adapters on quantised weights with a reference in float64. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createRandom } from '@trinity-rft/core';
import type { Quantization, TokenBatch } from '@trinity-rft/core/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  scoreInFloat64,
  type Float64Model,
  type Factors,
  type Weight,
} from '../../test/support/float64-model.js';
import { writeRandomGguf } from '../../test/support/gguf.js';
import { randomBatch } from '../../test/support/models.js';
import { normals } from '../../test/support/numeric.js';
import { cpu, flatOf } from '../../test/support/runtime.js';
import { adapterScale, adapterTargets, planAdapters, type AdapterTarget } from '../lora/plan.js';
import { parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import { readModelFiles } from '../storage/model-folder.js';
import { OnnxTrainer } from '../train/trainer.js';
import { isBlocks, isTensor, readRow, type QuantizedBase, type StoredParameter } from './base.js';
import { loadQuantizedBase } from './load.js';
import { openQuantized } from './state.js';

const root = mkdtempSync(join(tmpdir(), 'quantized-float64-'));
const gguf = (name: string): string => join(root, `${name}.gguf`);
beforeAll(() => {
  for (const name of ['F16', 'Q8_0', 'Q4_0', 'Q4_K']) writeRandomGguf(gguf(name), () => name);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The numbers that the integers represent, with the part of the offsets separate. */
function weightOf(stored: StoredParameter, [rows, columns = 1]: readonly number[]): Weight {
  if (isTensor(stored)) {
    const numbers = new Float32Array(rows! * columns);
    stored.read(numbers, 0);
    return { columns, numbers };
  }
  if (!isBlocks(stored)) return { columns, numbers: stored };
  const all = (own: typeof stored): Float32Array => {
    const numbers = new Float32Array(rows! * columns);
    for (let row = 0; row < rows!; row++)
      readRow(own, row, numbers.subarray(row * columns, (row + 1) * columns));
    return numbers;
  };
  const { offsets, ...plain } = stored;
  const numbers = all(plain);
  return {
    columns,
    numbers,
    block: stored.length,
    ...(offsets && { offsets: all(stored).map((value, i) => value - numbers[i]!) }),
  };
}

const weightsOf = (base: QuantizedBase): ReadonlyMap<string, Weight> =>
  new Map(
    parameterSpecs(base.config).map((spec) => [spec.name, weightOf(base.of(spec), spec.shape)]),
  );

type Named = ReadonlyMap<string, Factors>;
const letters = ['a', 'b'] as const;

/** Copies the matrices of adapters from a flat array, by the names of the adapted matrices. */
const named = (targets: readonly AdapterTarget[], flat: ArrayLike<number>): Named =>
  new Map(
    targets.map(({ weight, a, b }) => {
      const part = ({ offset, size }: ParameterSpec): Float64Array =>
        Float64Array.from({ length: size }, (_, i) => flat[offset + i]!);
      return [weight.name, { a: part(a), b: part(b) }];
    }),
  );

/** Dot product over all entries. */
function dot(one: Named, other: Named): number {
  let total = 0;
  for (const [name, own] of one)
    for (const letter of letters)
      own[letter].forEach((value, i) => (total += value * other.get(name)![letter][i]!));
  return total;
}

const moved = (from: Named, by: number, along: Named): Named =>
  new Map(
    [...from].map(([name, own]) => {
      const [a, b] = letters.map((letter) =>
        own[letter].map((value, i) => value + by * along.get(name)![letter][i]!),
      );
      return [name, { a: a!, b: b! }];
    }),
  );

/** Norm of the difference, divided by the norm of `expected`. */
function distance(found: Named, expected: Named): number {
  const difference = moved(found, -1, expected);
  return Math.sqrt(dot(difference, difference) / dot(expected, expected));
}

const meanDistance = (a: Float64Array, b: ArrayLike<number>): number =>
  a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0) / a.length;

interface Reference {
  readonly logprobs: Float64Array;
  readonly gradients: Named;
}

/** Responses of a batch, and the gradients of the sum of `by` times their log-probabilities. */
function referenceOf(model: Float64Model, { rows }: TokenBatch, by: ArrayLike<number>): Reference {
  const logprobs: number[] = [];
  let gradients: Named | undefined;
  for (const { tokens, promptLength, temperature } of rows) {
    const row = scoreInFloat64(model, tokens, temperature);
    const own = row.logprobs.map((_, i) =>
      i < promptLength - 1 ? 0 : by[logprobs.length + i - promptLength + 1]!,
    );
    logprobs.push(...row.logprobs.subarray(promptLength - 1));
    const found = row.backward(own);
    gradients = gradients ? moved(gradients, 1, found) : found;
  }
  return { logprobs: Float64Array.from(logprobs), gradients: gradients! };
}

/** Scores and gradients of the engine with adapters that change the model, and the inputs of the reference. */
async function engineOf(name: string, quantization: Quantization) {
  const modelPath = gguf(name);
  const files = await readModelFiles(modelPath);
  const { config } = files;
  const lora = { rank: 3, alpha: 6, seed: 1 };
  const options = { modelPath, lora, quantization, threads: 1, reference: false };
  const { weights: sets, trainable, kernels } = await openQuantized(options, cpu(), files);
  const random = createRandom(8);
  const flat = flatOf(sets.training);
  flat.set(normals(random, flat.length).map((x) => 0.05 * x));
  const trainer = new OnnxTrainer({ config, weights: sets, trainable });
  const batch = randomBatch(config, [9, 14, 6], 3, 0.8);
  const pass = await trainer.forward(batch);
  const by = normals(random, pass.logprobs.length);
  await trainer.backward(pass, { logprobs: by });
  const plan = planAdapters(config, lora);
  const targets = adapterTargets(config, plan);
  const gradients = named(targets, flatOf(trainer.gradient!).slice());
  await trainer.close();
  await kernels.close();
  return {
    batch,
    by,
    logprobs: pass.logprobs,
    gradients,
    adapters: named(targets, flat),
    direction: named(targets, normals(random, flat.length)),
    model: {
      config,
      weights: weightsOf(await loadQuantizedBase(modelPath, config, quantization)),
      scale: adapterScale(plan),
    },
  };
}

// Of the gradient's norm, and nats: what rounded activations contribute is at most as much.
test.each([
  ['int8', 'F16', 0.15, 0.15],
  ['int4', 'F16', 0.15, 0.15],
  ['file', 'Q8_0', 0.03, 0.03],
  ['file', 'Q4_0', 0.03, 0.01],
  ['file', 'Q4_K', 0.03, 0.01],
] as const)(
  'gradients are those of float64 beside the same weights: %s of %s',
  async (quantization, name, ofGradient, ofScores) => {
    const { batch, by, logprobs, gradients, adapters, model } = await engineOf(name, quantization);
    const exact = { ...model, adapters, roundsActivations: false };
    const expected = referenceOf(exact, batch, by);
    expect(distance(gradients, expected.gradients)).toBeLessThan(2e-5);

    // Activations are rounded in scores, and passed over in gradients.
    const coarse = referenceOf({ ...exact, roundsActivations: true }, batch, by);
    const rounding = meanDistance(coarse.logprobs, expected.logprobs);
    expect(rounding).toBeGreaterThan(1e-3);
    expect(rounding).toBeLessThan(ofScores);
    // A number of float32 and one of float64 may be rounded to neighbours.
    expect(meanDistance(coarse.logprobs, logprobs)).toBeLessThan(0.5 * rounding);
    const other = distance(coarse.gradients, expected.gradients);
    expect(other).toBeGreaterThan(1e-3);
    expect(other).toBeLessThan(ofGradient);
  },
);

test("the reference's gradients are the slope of its log-probabilities", async () => {
  const { batch, by, adapters, direction, model } = await engineOf('Q4_K', 'file');
  const at = (step: number): Reference => {
    const there = moved(adapters, step, direction);
    return referenceOf({ ...model, adapters: there, roundsActivations: false }, batch, by);
  };
  const [above, below] = [at(1e-5).logprobs, at(-1e-5).logprobs];
  const slope = above.reduce((sum, x, i) => sum + ((x - below[i]!) * by[i]!) / 2e-5, 0);
  expect(slope / dot(at(0).gradients, direction)).toBeCloseTo(1, 5);
});
