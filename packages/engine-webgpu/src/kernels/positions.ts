/** Kernels along the positions of sequences: rotary embedding and causal convolution. */
import { elementCall, kernel, perElement, type Call } from './kernel.js';

interface Rotary {
  readonly shape: readonly [batch: number, heads: number, time: number, width: number];
  /** Number r of elements of a head that are rotated. */
  readonly rotated: number;
  /** Position of the first token of every row; undefined if each token has its own position. */
  readonly first: number | undefined;
}

/** Rotary embedding. x [B, H, T, D], positions (omitted if `first` is known), cos and sin [P, r / 2] -> [B, H, T, D] */
export function rotary({ shape, rotated, first }: Rotary): Call {
  const [batch, heads, time, width] = shape;
  const own = first === undefined;
  const [cos, sin, y] = own ? ['b2', 'b3', 'b4'] : ['b1', 'b2', 'b3'];
  const reads = own ? (['f32', 'i32', 'f32', 'f32'] as const) : (['f32', 'f32', 'f32'] as const);
  const made = kernel({ name: 'RotaryEmbedding', reads, writes: ['f32'] }, () =>
    perElement(`
  let d = i % p(1u);
  let half = p(2u);
  if (d >= 2u * half) { ${y}[i] = b0[i]; return; }
  let row = i / p(1u);
  let s = row % p(3u);
  let position = ${own ? 'u32(b1[(row / (p(3u) * p(4u))) * p(3u) + s])' : 'p(5u) + s'};
  let at = position * half + d % half;
  if (d < half) { ${y}[i] = b0[i] * ${cos}[at] - b0[i + half] * ${sin}[at]; }
  else { ${y}[i] = b0[i - half] * ${sin}[at] + b0[i] * ${cos}[at]; }`),
  );
  const numbers = [width, rotated / 2, time, heads, first ?? 0];
  return elementCall(made, batch * heads * time * width, numbers, 24);
}

interface Convolution {
  readonly shape: readonly [batch: number, time: number, channels: number];
  readonly taps: number;
  /** True if the positions before the first one are an operand [B, K - 1, d]; otherwise they are zeros. */
  readonly hasPast: boolean;
}

/**
 * WGSL function `number(b, s, c)`: the number `s` positions after the first position of the past. Uniforms 1 to 3: T,
 * d, K.
 */
const before = (hasPast: boolean, x: string): string => `
fn number(b: u32, s: u32, c: u32) -> f32 {
  let past = p(3u) - 1u;
  if (s >= past) { return ${x}[(b * p(1u) + s - past) * p(2u) + c]; }
  return ${hasPast ? 'b1[(b * past + s) * p(2u) + c]' : '0.0'};
}`;

/**
 * Causal convolution: y[t] = sum over j of w[j] x[t - K + 1 + j]. x [B, S, d], the past if any, w [d, 1, K] -> [B, S,
 * d]
 */
export function convolution({ shape, taps, hasPast }: Convolution): Call {
  const [batch, time, channels] = shape;
  const [weight, y] = hasPast ? ['b2', 'b3'] : ['b1', 'b2'];
  const reads = hasPast ? (['f32', 'f32', 'f32'] as const) : (['f32', 'f32'] as const);
  const made = kernel({ name: 'CausalConvWithState', reads, writes: ['f32'] }, () => {
    const body = `
  let c = i % p(2u);
  let s = (i / p(2u)) % p(1u);
  let b = i / (p(1u) * p(2u));
  var sum = 0.0;
  for (var j = 0u; j < p(3u); j++) { sum = fma(${weight}[c * p(3u) + j], number(b, s + j, c), sum); }
  ${y}[i] = sum;`;
    return before(hasPast, 'b0') + perElement(body);
  });
  return elementCall(made, batch * time * channels, [time, channels, taps], 8 * taps);
}

/** The last K - 1 positions of the past and x. -> [B, K - 1, d] */
export function convolutionState({ shape, taps, hasPast }: Convolution): Call {
  const [batch, time, channels] = shape;
  const reads = hasPast ? (['f32', 'f32'] as const) : (['f32'] as const);
  const made = kernel({ name: 'state of a convolution', reads, writes: ['f32'] }, () => {
    const y = hasPast ? 'b2' : 'b1';
    const body = `
  let past = p(3u) - 1u;
  ${y}[i] = number(i / (past * p(2u)), p(1u) + (i / p(2u)) % past, i % p(2u));`;
    return before(hasPast, 'b0') + perElement(body);
  });
  return elementCall(made, batch * (taps - 1) * channels, [time, channels, taps]);
}
