/**
 * The gated delta rule. Each head has a state that decays. Each position reads the value that the
 * state holds for the position's key, and moves it towards the position's own value.
 */
import { dimAt, withPullback, type Value } from '../graph/graph.js';
import { deltaGradients, type DeltaInputs } from './gated-delta-gradient.js';
import { reshape } from './shape.js';

/**
 * Computes, per head with state S [K, V] and position by position:  S <- exp(decay) S;  S <- S + k
 * (beta (v - S^T k))^T;  y = S^T q. A later call that continues from the returned state gives the
 * same bits as one call for all positions. -> y [B, S, H, V], state [B, H, K, V]
 *
 * The gradient is valid only without `past`. {@link deltaGradients} computes it in chunks.
 * @param past state before the first position. @default zeros
 * @see Yang et al., arXiv:2412.06464
 */
export function gatedDelta(
  inputs: DeltaInputs,
  past?: Value,
): { readonly y: Value; readonly state: Value } {
  const { q, k, v, decay, beta } = inputs;
  const [batch, time, heads] = v.shape;
  const width = dimAt(v, 3);
  const flat = (x: Value): Value =>
    reshape(x, [...x.shape.slice(0, 2), Number(heads) * Number(dimAt(x, 3))]);
  const [out, state] = v.graph.nodes(
    'LinearAttention',
    [flat(q), flat(k), flat(v), past, decay, beta],
    [
      { shape: [batch!, time!, Number(heads) * Number(width)] },
      { shape: [batch!, heads!, dimAt(k, 3), width] },
    ],
    {
      domain: 'com.microsoft',
      attributes: {
        update_rule: 'gated_delta',
        q_num_heads: Number(heads),
        kv_num_heads: Number(heads),
        scale: { float: 1 },
      },
      allOutputs: true,
    },
  ) as [Value, Value];
  const y = withPullback(reshape(out, v.shape), [q, k, v, decay, beta], (g) =>
    deltaGradients(inputs, g),
  );
  return { y, state };
}
