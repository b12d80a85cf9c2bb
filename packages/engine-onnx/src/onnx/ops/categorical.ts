/** Draws tokens inside the graph, so that no logits have to be copied out of it. */
import { dimAt, type Value } from '../graph/graph.js';
import { exp } from './elementwise.js';
import { cast, gatherElements } from './select.js';

/**
 * Upper limit for the uniform number u, two float32 steps below 1. With it, u * total stays below
 * the total after rounding.
 */
const largestUniform = 1 - 2 ** -23;

/**
 * Samples by inverse transform: draws the first token whose cumulative probability exceeds u times
 * the total. A token of probability 0 is never drawn. `logprobs` [R, V], `u` [R, 1] -> token int32
 * [R, 1], logprob [R, 1]
 */
export function categorical(
  logprobs: Value,
  u: Value,
): { readonly token: Value; readonly logprob: Value } {
  const { graph } = logprobs;
  const rows = dimAt(logprobs, 0);
  const vocabulary = dimAt(logprobs, 1) as number;
  const column = [rows, 1];
  const cumulative = graph.node(
    'CumSum',
    [exp(logprobs), graph.constant(BigInt64Array.of(1n), [])],
    { shape: logprobs.shape },
  );
  const lastIndex = graph.integers([vocabulary - 1]);
  const total = graph.node(
    'Gather',
    [cumulative, lastIndex],
    { shape: column },
    { attributes: { axis: 1 } },
  );
  const clipped = graph.node('Min', [u, graph.scalar(largestUniform)], { shape: column });
  const threshold = graph.node('Mul', [clipped, total], { shape: column });
  const passed = graph.node('LessOrEqual', [cumulative, threshold], {
    shape: logprobs.shape,
    dtype: 'bool',
  });
  // Counting in float32 is exact below 2^24 tokens.
  const count = graph.node(
    'ReduceSum',
    [cast(passed, 'float32'), graph.integers([1])],
    { shape: column },
    { attributes: { keepdims: 1 } },
  );
  const token = cast(count, 'int32');
  return { token, logprob: gatherElements(logprobs, token, 1) };
}
