/** Time of the runtime's matrix products alone, by which the engine's times are divided. */
import { Tensor } from 'onnxruntime-node';

import type { ModelConfig } from '../../packages/engine-onnx/src/model/config.ts';
import { Graph, type Value } from '../../packages/engine-onnx/src/onnx/graph/graph.ts';
import { linear, matmul } from '../../packages/engine-onnx/src/onnx/ops/matmul.ts';
import { reshape } from '../../packages/engine-onnx/src/onnx/ops/shape.ts';
import { createSession } from '../../packages/engine-onnx/src/runtime/session.ts';
import { time, type Timing } from './measure.ts';

/** Floating-point operations per second of a product of two 1024 x 1024 matrices; best run. */
export async function matmulPeak(threads: number, seconds = 3): Promise<number> {
  const n = 1024;
  const { timing } = await timeGraph(threads, seconds, (graph) => {
    graph.output(
      'y',
      matmul(graph.input('a', 'float32', [n, n]), graph.input('b', 'float32', [n, n])),
    );
  });
  return (2 * n ** 3) / (timing.best / 1000);
}

/** Times only the matrix products of one decode step. */
export async function decodeMatmuls(
  config: ModelConfig,
  rows: number,
  capacity: number,
  threads: number,
): Promise<Timing> {
  const { hiddenSize, heads, kvHeads, headDim, intermediateSize, vocabSize, layers } = config;
  const { timing } = await timeGraph(threads, 0.75, (graph) => {
    const weight = (name: string, out: number, input: number): Value =>
      graph.input(name, 'float32', [out, input]);
    let x = graph.input('x', 'float32', [rows, hiddenSize]);
    for (let l = 0; l < layers; l++) {
      const q = linear(x, weight(`q${l}`, heads * headDim, hiddenSize));
      graph.output(`k${l}`, linear(x, weight(`wk${l}`, kvHeads * headDim, hiddenSize)));
      graph.output(`v${l}`, linear(x, weight(`wv${l}`, kvHeads * headDim, hiddenSize)));
      const past = (name: string): Value =>
        graph.input(name, 'float32', [rows, kvHeads, capacity, headDim]);
      const scores = matmul(reshape(q, [rows, kvHeads, heads / kvHeads, headDim]), past(`pk${l}`), {
        transposeB: true,
      });
      const mixed = reshape(matmul(scores, past(`pv${l}`)), [rows, heads * headDim]);
      const attended = linear(mixed, weight(`o${l}`, hiddenSize, heads * headDim));
      graph.output(`up${l}`, linear(attended, weight(`wu${l}`, intermediateSize, hiddenSize)));
      x = linear(
        linear(attended, weight(`g${l}`, intermediateSize, hiddenSize)),
        weight(`d${l}`, hiddenSize, intermediateSize),
      );
    }
    graph.output('logits', linear(x, weight('head', vocabSize, hiddenSize)));
  });
  return timing;
}

/** Times a graph with fixed shapes on inputs of small numbers. */
async function timeGraph(
  threads: number,
  seconds: number,
  build: (graph: Graph) => void,
): Promise<{ timing: Timing }> {
  const graph = new Graph();
  build(graph);
  const session = await createSession(graph.record(), { threads, kind: 'sample' });
  const feeds: Record<string, Tensor> = {};
  for (const input of session.inputMetadata) {
    const shape = input.isTensor ? (input.shape as number[]) : [];
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1)).map(
      (_, i) => ((i % 17) - 8) / 64,
    );
    feeds[input.name] = new Tensor('float32', data, shape);
  }
  const timing = await time(() => session.run(feeds), seconds);
  await session.release();
  return { timing };
}
