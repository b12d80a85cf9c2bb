/**
 * The critic's graphs, which compute the values of whole sequences and the gradients of all
 * parameters. Inputs and outputs that are not listed are as in `model/training-graphs.ts`:
 *
 * | name          | type         | forward | backward | meaning                                        |
 * | ------------- | ------------ | ------- | -------- | ---------------------------------------------- |
 * | `rows`        | i32 [R]      | in      | in       | flat index b * T + t of each position to value |
 * | `grad_values` | f32 [R, 1]   |         | in       | dL/dvalue; 0 in padding rows                   |
 * | `values`      | f32 [R, 1]   | out     |          | norm(x) w + b                                  |
 */
import { Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import { linear } from '../onnx/ops/matmul.js';
import { takeRows } from '../onnx/ops/shape.js';
import type { ExactScoring } from '../model/column-parts.js';
import type { ModelConfig } from '../model/config.js';
import { finalNorm } from '../model/head.js';
import { valueHeadNames } from '../model/parameters.js';
import { outputGradients, trainingBody, type TrainingBody } from '../model/training-graphs.js';
import { parameterOf } from '../model/trunk.js';

/** Builds the graph that computes the values of positions. @param parts see {@link ExactScoring} */
export function valueGraph(config: ModelConfig, parts: ExactScoring['parts']): ModelRecord {
  const graph = new Graph();
  const body = trainingBody(graph, config, { parts });
  graph.output('values', valuesOf(body, graph.input('rows', 'int32', ['R'])));
  return graph.record();
}

/** Builds the graph that returns the gradient of every parameter. */
export function valueGradientGraph(config: ModelConfig): ModelRecord {
  const graph = new Graph();
  const body = trainingBody(graph, config);
  const value = valuesOf(
    body,
    graph.input('rows', 'int32', ['R']),
    graph.input('spread', 'int32', ['N']),
  );
  outputGradients(body, { value, gradient: graph.input('grad_values', 'float32', ['R', 1]) });
  return graph.record();
}

/** Returns one value for each of `rows`. [R, 1] */
function valuesOf({ trunk, x }: TrainingBody, rows: Value, spread?: Value): Value {
  const states = finalNorm(trunk, takeRows(x, rows, spread));
  const { weight, bias } = valueHeadNames;
  return linear(states, parameterOf(trunk, weight), parameterOf(trunk, bias));
}
