import { describe, expect, test } from 'vitest';
import type { ModelRecord } from '../../packages/engine-onnx/src/runtime/graph-runtime.js';
import {
  backwardGraph,
  forwardGraph,
} from '../../packages/engine-onnx/src/model/training-graphs.js';
import { Graph } from '../../packages/engine-onnx/src/onnx/graph/graph.js';
import { uniformWords } from '../../packages/engine-webgpu/src/kernels/kernel.js';
import { checkGraph, planGraph, type Plan } from '../../packages/engine-webgpu/src/plan/plan.js';
import { inputsOf, trainingCase, wholeHead, type TrainingCase } from './support/graphs.js';
import { modelNames, modelOf, withoutKernels } from './support/models.js';

const planOf = (record: ModelRecord, { inputs }: TrainingCase): Plan =>
  planGraph(
    record,
    Object.fromEntries(
      Object.entries(inputsOf(record, inputs)).map(([name, { shape }]) => [name, shape]),
    ),
  );

/** Kernels that read a buffer before it was written, or write a buffer that they read. */
function misordered({ dispatches, places }: Plan): readonly string[] {
  const written = new Set<string>();
  return dispatches.flatMap(({ buffers, kernel }) => {
    const keys = buffers.map((index) => JSON.stringify(places[index]));
    const [reads, writes] = [keys.slice(0, kernel.reads), keys.slice(kernel.reads)];
    const early = reads.filter((key) => /"kind":"(slot|output)"/.test(key) && !written.has(key));
    for (const key of writes) written.add(key);
    const both = writes.filter((key) => reads.includes(key));
    return [...early, ...both].map((key) => `${kernel.name} ${key}`);
  });
}

describe('plans of training graphs', () => {
  test.each(modelNames.filter((name) => !withoutKernels.includes(name)))('%s', (name) => {
    const training = trainingCase(modelOf(name));
    const forward = forwardGraph(training.config, { entropy: true, chunks: 1, parts: wholeHead });
    const backward = backwardGraph(training.config, { entropy: true, chunks: 1, logprobs: true });
    for (const record of [forward, backward]) {
      checkGraph(record);
      const plan = planOf(record, training);
      expect(misordered(plan)).toEqual([]);
      const words = plan.dispatches.map(({ uniforms }) => uniforms.length);
      expect(Math.max(...words)).toBeLessThanOrEqual(uniformWords);
      const sizes: Record<string, number> = {
        B: training.batch,
        T: training.time,
        R: training.picked,
        N: training.batch * training.time,
      };
      const expected = record.outputs.map(({ name: output, shape }) => [
        output,
        shape.map((dim) => (typeof dim === 'number' ? dim : sizes[dim])),
      ]);
      expect(Object.entries(plan.outputs).map(([key, { shape }]) => [key, shape])).toEqual(
        expected,
      );
      // Nodes that only compute shapes are evaluated when the plan is made, so they need no
      // dispatch.
      expect(plan.dispatches.length).toBeLessThan(record.nodes.length);
      const sources = new Set(plan.dispatches.map(({ kernel }) => kernel.source));
      expect(sources.size).toBeLessThan(45);
      expect(plan.slots.length).toBeLessThan(plan.dispatches.length / 2);
    }
  });

  test('sizes of qwen3', () => {
    const training = trainingCase(modelOf('qwen3'));
    const record = backwardGraph(training.config, { entropy: false, chunks: 1, logprobs: true });
    const plan = planOf(record, training);
    expect({
      nodes: record.nodes.length,
      dispatches: plan.dispatches.length,
      slots: plan.slots.length,
    }).toMatchInlineSnapshot(`
      {
        "dispatches": 229,
        "nodes": 330,
        "slots": 44,
      }
    `);
  });
});

test('storages that are needed at different times share a slot', () => {
  const graph = new Graph();
  let value = graph.input('x', 'float32', ['R', 4]);
  for (let i = 0; i < 6; i++) value = graph.node('Exp', [value], { shape: value.shape });
  graph.output('y', value);
  const { slots, dispatches } = planGraph(graph.record(), { x: [3, 4] });
  expect(dispatches).toHaveLength(6);
  expect(slots).toEqual([48, 48]);
});

test('a value that no output needs is not computed', () => {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['R', 4]);
  const [, indices] = graph.nodes(
    'TopK',
    [x, graph.integers([1])],
    [{ shape: ['R', 1] }, { shape: ['R', 1], dtype: 'int64' }],
  );
  graph.node('Neg', [x], { shape: x.shape });
  graph.output('i', indices!);
  expect(planGraph(graph.record(), { x: [3, 4] }).dispatches).toHaveLength(1);
});

describe('refuses by name', () => {
  test.each(withoutKernels)('the operators of %s', (name) => {
    const config = modelOf(name);
    const record = forwardGraph(config, { entropy: false, chunks: 1, parts: wholeHead });
    expect(() => checkGraph(record)).toThrow('does not support the operator LinearAttention');
  });

  test('types of numbers', () => {
    const graph = new Graph();
    graph.output('y', graph.input('x', 'uint8', [2]));
    expect(() => checkGraph(graph.record())).toThrow(
      'does not support numbers of type uint8, as "x" has them',
    );
  });

  test('constants in a file', () => {
    const graph = new Graph();
    const table = graph.constant(Float32Array.of(1, 2), [2]);
    graph.output('y', graph.node('Neg', [table], table));
    const record = graph.record();
    const bytes = { location: 'weights.bin', offset: 0, length: 8 };
    const constants = record.constants.map((constant) => ({ ...constant, bytes }));
    expect(() => checkGraph({ ...record, constants })).toThrow(
      /is in the file weights\.bin\. To run this model, set model\.device: cpu\.$/,
    );
  });

  test('a squeeze of given axes', () => {
    const graph = new Graph();
    const x = graph.input('x', 'float32', ['R', 1, 1]);
    graph.output('y', graph.node('Squeeze', [x, graph.integers([2])], { shape: ['R', 1] }));
    expect(() => planGraph(graph.record(), { x: [3, 1, 1] })).toThrow(
      'does not support a squeeze of some axes only (operator Squeeze',
    );
  });

  test('shapes that are not those of the graph', () => {
    const graph = new Graph();
    const a = graph.input('a', 'float32', ['R', 2]);
    graph.output('y', graph.node('Add', [a, graph.input('b', 'float32', ['R', 2])], a));
    const record = graph.record();
    expect(() => planGraph(record, { a: [3, 2], b: [4, 2] })).toThrow(
      'The input "b" has the shape [4, 2]; the graph expects [3, 2]',
    );
    expect(() => planGraph(record, { a: [3, 2] })).toThrow('"b" has the shape [missing]');
  });
});
