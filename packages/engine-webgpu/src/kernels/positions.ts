/** Kernels that depend on the position in a sequence: rotary embedding and causal convolution. */
import { perElement, type Call } from './kernel.js';

interface Rotary {
  readonly shape: readonly [batch: number, heads: number, time: number, width: number];
  /** Rotary dimension r: the number of elements per head that are rotated. */
  readonly rotated: number;
  /**
   * True if the positions operand is a single number, which is the position of the first token in
   * every row. Otherwise, the operand contains the position of each token.
   */
  readonly isFirst: boolean;
}

/**
 * Computes the rotary embedding. x [B, H, T, D], positions [B, T] or [1], cos and sin [P, r / 2] ->
 * [B, H, T, D], where P is the number of positions in the tables
 */
export function rotary({ shape, rotated, isFirst }: Rotary): Call {
  const [batch, heads, time, width] = shape;
  const body = `
  let d = i % p(1u);
  let half = p(2u);
  if (d >= 2u * half) { b4[i] = b0[i]; return; }
  let s = (i / p(1u)) % p(3u);
  let row = i / (p(1u) * p(3u) * p(4u));
  var position = u32(b1[0]) + s;
  if (p(5u) == 0u) { position = u32(b1[row * p(3u) + s]); }
  let at = position * half + d % half;
  if (d < half) { b4[i] = b0[i] * b2[at] - b0[i + half] * b3[at]; }
  else { b4[i] = b0[i - half] * b3[at] + b0[i] * b2[at]; }`;
  const spec = { name: 'RotaryEmbedding', types: 'f32 i32 f32 f32 -> f32', cost: 24 };
  return perElement(
    spec,
    [batch * heads * time * width, width, rotated / 2, time, heads, Number(isFirst)],
    body,
  );
}

/**
 * Computes a causal convolution: y[t] = sum over j of w[j] x[t + j]. x [B, K - 1 + S, d] begins
 * with the K - 1 previous inputs; w is [d, 1, K]. The result is [B, S, d].
 */
export function convolution(
  [batch, time, channels]: readonly [number, number, number],
  taps: number,
): Call {
  const body = `
  let c = i % p(2u);
  let row = i / p(2u) + (i / (p(1u) * p(2u))) * (p(3u) - 1u);
  var sum = 0.0;
  for (var j = 0u; j < p(3u); j++) { sum = fma(b1[c * p(3u) + j], b0[(row + j) * p(2u) + c], sum); }
  b2[i] = sum;`;
  const spec = { name: 'CausalConvWithState', types: 'f32 f32 -> f32', cost: 8 * taps };
  return perElement(spec, [batch * time * channels, time, channels, taps], body);
}
