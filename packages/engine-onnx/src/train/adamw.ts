/** Update plans and state of AdamW. */
import type { ArraySet, NamedShape, UpdatePlan } from '../runtime/graph-runtime.js';

/** Moments of the gradient, and the number of updates so far. */
export interface Optimizer {
  step: number;
  readonly first: ArraySet;
  readonly second: ArraySet;
}

/** An {@link Optimizer} as flat arrays in the thread's memory, in the order of the parameters. */
export interface OptimizerState {
  step: number;
  /** Running mean of the gradient. [P] */
  readonly first: Float32Array;
  /** Running mean of the squared gradient. [P] */
  readonly second: Float32Array;
}

export interface AdamWOptions {
  readonly learningRate: number;
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  /** Decoupled weight decay; not applied to norms, biases and other vectors. */
  readonly weightDecay: number;
  /** Factor by which clipping scales the gradient. */
  readonly gradientScale: number;
}

/**
 * Returns the factor by which to multiply a gradient of norm `norm` so that its norm is at most
 * `limit`. A `limit` of 0 disables clipping. The formula is that of torch's `clip_grad_norm_`.
 */
export function clipScale(norm: number, limit: number): number {
  return limit > 0 ? Math.min(1, limit / (norm + 1e-6)) : 1;
}

/**
 * Increments `step` and plans the update. With gradient g, moments m and v, and step t: m = b1 m +
 * (1 - b1) g; v = b2 v + (1 - b2) g^2; w' = w (1 - lr decay) - lr / (1 - b1^t) m / (sqrt(v / (1 -
 * b2^t)) + epsilon).
 * @see Loshchilov and Hutter, arXiv:1711.05101; torch.optim.AdamW
 */
export function planUpdate(
  specs: readonly NamedShape[],
  state: { step: number },
  { learningRate, weightDecay, betas, epsilon, gradientScale }: AdamWOptions,
): UpdatePlan {
  state.step++;
  return {
    betas,
    epsilon,
    gradientScale,
    stepSize: learningRate / (1 - betas[0] ** state.step),
    rootCorrection: Math.sqrt(1 - betas[1] ** state.step),
    keep: specs.map(({ shape }) => (shape.length > 1 ? 1 - learningRate * weightDecay : 1)),
  };
}
