/** Weights of the experts that a router selects. */
import { dimAt, withPullback, type Value } from '../graph/graph.js';
import { multiply, reciprocal, subtract } from './elementwise.js';
import { matmul } from './matmul.js';
import { expand, scatterElements } from './select.js';

export interface RoutingOptions {
  /** Number of experts per token. */
  readonly active: number;
  /** True if the weights of a token are scaled to sum to 1. */
  readonly normalize: boolean;
}

/**
 * Returns the routing weights: the probabilities of the `active` most probable experts, and 0 for
 * the other experts. The selection itself has no gradient. `logits` [..., E] -> [..., E]
 */
export function routingWeights(logits: Value, { active, normalize }: RoutingOptions): Value {
  const probabilities = softmax(logits);
  const picked = multiply(probabilities, largest(probabilities, active));
  return normalize ? multiply(picked, reciprocal(rowSum(picked))) : picked;
}

/** Computes the softmax over the last dimension. With p = softmax(x): dL/dx = p (g - sum(g p)). */
function softmax(a: Value): Value {
  const output = { shape: a.shape };
  const p = a.graph.node('Softmax', [a], output, { attributes: { axis: -1 } });
  return withPullback(p, [a], (g) => [multiply(p, subtract(g, rowSum(multiply(g, p))))]);
}

/**
 * Returns a mask that is 1 for the `count` largest elements of each row, and 0 for the others. Has
 * no gradient.
 */
function largest(a: Value, count: number): Value {
  const { graph } = a;
  const shape = a.shape.with(-1, count);
  const [, indices] = graph.nodes(
    'TopK',
    [a, graph.integers([count])],
    [{ shape }, { shape, dtype: 'int64' }],
    { attributes: { axis: -1 } },
  ) as [Value, Value];
  const [zeros, ones] = [expand(graph.scalar(0), a.shape), expand(graph.scalar(1), shape)];
  return scatterElements(zeros, indices, ones, { axis: -1 });
}

/** Returns the sum over the last dimension, which is kept with size 1. */
function rowSum(a: Value): Value {
  const width = Number(dimAt(a, -1));
  return matmul(a, a.graph.constant(new Float32Array(width).fill(1), [width, 1]));
}
