/** Compares the gated delta rule with transformers and torch; the fixtures come from tools/fixtures/gated_delta.py. */
import { Tensor, type InferenceSession } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';

import { distance, largest, readTensors } from '../../../test/support/fixtures.js';
import { createSession } from '../../runtime/session.js';
import { Graph } from '../graph/graph.js';
import { deltaGradients, type DeltaInputs } from './gated-delta-gradient.js';
import { gatedDelta } from './gated-delta.js';

const [heads, keyWidth, valueWidth] = [2, 8, 4];
const names = ['q', 'k', 'v', 'decay', 'beta'] as const;
const widths = { q: [keyWidth], k: [keyWidth], v: [valueWidth], decay: [], beta: [] };

const inputsOf = (graph: Graph): DeltaInputs =>
  Object.fromEntries(
    names.map((name) => [name, graph.input(name, 'float32', ['B', 'T', heads, ...widths[name]])]),
  ) as unknown as DeltaInputs;

const session = (graph: Graph): Promise<InferenceSession> =>
  createSession(graph.record(), { threads: 2, kind: 'train' });

const folder = new URL('../../../test/fixtures/gated-delta/', import.meta.url).pathname;

async function readCase(name: string): Promise<Record<string, Tensor>> {
  const stored = await readTensors(`${folder}${name}.safetensors`);
  return Object.fromEntries(
    [...stored].map(([key, { data, shape }]) => [key, new Tensor('float32', data, shape)]),
  );
}

const numbers = (tensor: Tensor | undefined): Float32Array => tensor!.data as Float32Array;

describe.each(['random', 'equal-keys'])('the gated delta rule, %s', (name) => {
  test('gives what the recurrence of transformers gives', async () => {
    const graph = new Graph();
    graph.output('y', gatedDelta(inputsOf(graph)).y);
    const stored = await readCase(name);
    const run = await session(graph);
    const { y } = await run.run(pick(stored, names));
    expect(distance(numbers(y), numbers(stored['y']))).toBeLessThan(1e-6);
  });

  test.each([4, 8, 64])('has the gradients of torch, in chunks of %d', async (size) => {
    const graph = new Graph();
    const inputs = inputsOf(graph);
    const dy = graph.input('grad.y', 'float32', inputs.v.shape);
    for (const [i, gradient] of deltaGradients(inputs, dy, size).entries())
      graph.output(`grad.${names[i]}`, gradient);
    const stored = await readCase(name);
    const run = await session(graph);
    const found = await run.run(pick(stored, [...names, 'grad.y']));
    for (const input of names) {
      const expected = numbers(stored[`grad.${input}`]);
      const error = distance(numbers(found[`grad.${input}`]), expected) / largest(expected);
      // With equal keys, the sums that make the gradient of the decay cancel nearly, also those of torch.
      const bound = name === 'equal-keys' && input === 'decay' ? 1e-4 : 1e-5;
      expect([input, error < bound, error]).toEqual([input, true, error]);
    }
  });
});

test('position by position gives the bits of all at once', async () => {
  const graph = new Graph();
  const past = graph.input('past', 'float32', ['B', heads, keyWidth, valueWidth]);
  const { y, state } = gatedDelta(inputsOf(graph), past);
  graph.output('y', y);
  graph.output('state', state);
  const run = await session(graph);
  const stored = await readCase('random');
  const zeros = (rows: number): Tensor =>
    new Tensor('float32', new Float32Array(rows * heads * keyWidth * valueWidth), [
      rows,
      heads,
      keyWidth,
      valueWidth,
    ]);
  const whole = await run.run({ ...pick(stored, names), past: zeros(2) });
  let state1 = zeros(1);
  const steps: number[] = [];
  for (let t = 0; t < 41; t++) {
    const feeds = names.map((name) => {
      const { data, dims } = stored[name]!;
      const width = dims.slice(2).reduce((a, b) => a * b, 1);
      const part = (data as Float32Array).slice(t * width, (t + 1) * width);
      return [name, new Tensor('float32', part, [1, 1, ...dims.slice(2)])];
    });
    const out = await run.run({ ...Object.fromEntries(feeds), past: state1 });
    state1 = out['state'] as Tensor;
    steps.push(...numbers(out['y'] as Tensor));
  }
  expect(steps).toEqual([...numbers(whole['y'] as Tensor).subarray(0, steps.length)]);
});

const pick = (tensors: Record<string, Tensor>, keys: readonly string[]): Record<string, Tensor> =>
  Object.fromEntries(keys.map((key) => [key, tensors[key]!]));
