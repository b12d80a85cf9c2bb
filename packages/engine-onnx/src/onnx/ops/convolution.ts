/** Convolutions over the positions of a sequence. */
import { withPullback, type Value } from '../graph/graph.js';
import { add, multiply } from './elementwise.js';
import { columns, concat, reshape } from './shape.js';

/**
 * Computes a causal convolution of each channel separately: y[t] = sum over j < K of w[j] x[t - K +
 * 1 + j]. `x` is [B, S, d], `weight` [d, 1, K], and `past` [B, K - 1, d] contains the positions
 * before the first. `state` contains the last K - 1 positions. A later call that continues from
 * this state gives the same bits as one call for all positions.
 *
 * Gradients, valid without `past`, with g = 0 after the last position:
 *
 * dL/dx[t] = sum over j of w[j] g[t + K - 1 - j]; dL/dw[j] = sum over t of x[t] g[t + K - 1 - j].
 * @param past positions before the first. @default zeros
 */
export function causalConvolution(
  x: Value,
  weight: Value,
  past?: Value,
): { readonly y: Value; readonly state: Value } {
  const [channels, , taps] = weight.shape as [number, 1, number];
  const [y, state] = x.graph.nodes(
    'CausalConvWithState',
    [x, weight, undefined, past],
    [{ shape: x.shape }, { shape: x.shape.with(1, taps - 1) }],
    {
      domain: 'com.microsoft',
      attributes: { activation: 'none', channels_last: 1 },
      allOutputs: true,
    },
  ) as [Value, Value];
  const pullback = (g: Value): readonly Value[] => {
    const later = laterPositions(g, taps);
    const dx = later.map((shifted, j) =>
      multiply(shifted, reshape(columns(weight, j, 1), [channels])),
    );
    const dWeight = later.map((shifted) =>
      reshape(perChannel(multiply(x, shifted)), [channels, 1, 1]),
    );
    return [dx.reduce(add), concat(dWeight, 2, taps)];
  };
  return { y: withPullback(y, [x, weight], pullback), state };
}

/**
 * Returns one shifted copy of `g` for each tap j: position t of the copy holds g[t + K - 1 - j], or
 * 0 after the last position. `g` [B, S, d]
 */
function laterPositions(g: Value, taps: number): readonly Value[] {
  const { graph } = g;
  const pads = graph.integers([0, 0, 0, 0, taps - 1, 0]);
  const padded = graph.node('Pad', [g, pads], { shape: g.shape.with(1, 'padded') });
  return Array.from({ length: taps }, (_, j) => {
    const [from, to] = [graph.integers([taps - 1 - j]), graph.integers([j === 0 ? 2 ** 40 : -j])];
    return graph.node('Slice', [padded, from, to, graph.integers([1])], { shape: g.shape });
  });
}

/** Sums over all but the last dimension. [B, S, d] -> [1, 1, d] */
function perChannel(x: Value): Value {
  return x.graph.node(
    'ReduceSum',
    [x, x.graph.integers([0, 1])],
    { shape: [1, 1, x.shape[2]!] },
    { attributes: { keepdims: 1 } },
  );
}
