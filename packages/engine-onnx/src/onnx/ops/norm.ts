/** Root mean square normalisation. */
import { InvariantError } from '@trinity-rft/core';
import { product } from '../graph/dims.js';
import { dimAt, withPullback, type Value } from '../graph/graph.js';
import { multiply, subtract } from './elementwise.js';
import { matmul } from './matmul.js';
import { reshape } from './shape.js';

/**
 * Computes y = w * x * r with r = 1 / sqrt(mean(x^2) + epsilon) over the last dimension. `x`
 * [..., d], `weight` [d]
 *
 * Gradients, with u = g * x:  dL/dw = sum over rows of r u;  dL/dx = r (g w - x r^2 mean(u w)).
 * @see Zhang and Sennrich, arXiv:1910.07467
 */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const width = dimAt(x, -1);
  if (typeof width !== 'number')
    throw new InvariantError('The normalised dimension must be a number, not a symbol.');
  const lead = x.shape.slice(0, -1);
  const [y, r] = x.graph.nodes(
    'SimplifiedLayerNormalization',
    [x, weight],
    [{ shape: x.shape }, { shape: [...lead, 1] }],
    {
      attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
    },
  ) as [Value, Value];
  return withPullback(y, [x, weight], (g) => {
    const rows = product(lead);
    const u = multiply(g, x);
    const dWeight = matmul(reshape(r, [rows, 1]), reshape(u, [rows, width]), { transposeA: true });
    const mean = matmul(u, reshape(weight, [width, 1]), { alpha: 1 / width });
    const pull = multiply(x, multiply(multiply(mean, r), r));
    return [multiply(subtract(multiply(g, weight), pull), r), reshape(dWeight, [width])];
  });
}
