/** AdamW over flat arrays. */
import type { ParameterSpec } from '../model/parameters.js';

/** Moments of the gradient, in the order of the parameters, and the number of updates. */
export interface OptimizerState {
  step: number;
  /** Running mean of the gradient. [P] */
  readonly first: Float32Array;
  /** Running mean of its square. [P] */
  readonly second: Float32Array;
}

export interface AdamWOptions {
  readonly learningRate: number;
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  /** Decoupled weight decay; applied to matrices only, not to norms and biases. */
  readonly weightDecay: number;
  /** Factor by which clipping scales the gradient. */
  readonly gradientScale: number;
}

/** L2 norm of all numbers, summed in float64. */
export function globalNorm(gradient: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < gradient.length; i++) {
    const x = gradient[i]!;
    sum += x * x;
  }
  return Math.sqrt(sum);
}

/**
 * Factor that reduces a gradient of norm `norm` to at most `limit`; no limit if it is 0. Same as
 * torch's `clip_grad_norm_`.
 */
export function clipScale(norm: number, limit: number): number {
  return limit > 0 ? Math.min(1, limit / (norm + 1e-6)) : 1;
}

/** Arrays of one length, [P]. `to` may be the same array as `from` or as the gradient. */
export interface UpdateArrays {
  readonly from: Float32Array;
  readonly to: Float32Array;
  readonly gradient: Float32Array;
  readonly first: Float32Array;
  readonly second: Float32Array;
}

/** The numbers of the flat arrays from `start` up to, but not including, `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** One update, without its arrays. */
export interface UpdatePlan extends Pick<AdamWOptions, 'betas' | 'epsilon' | 'gradientScale'> {
  readonly stepSize: number;
  readonly rootCorrection: number;
  /**
   * One entry per array, in order: `keep` is the factor that weight decay multiplies its weights
   * by.
   */
  readonly tensors: readonly (Range & { readonly keep: number })[];
}

/**
 * Counts up `step`, and plans the update: with gradient g, moments m, v and step t,
 * m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 * w' = w (1 - lr decay) - lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon).
 * Arithmetic in float64, rounded to float32 when stored.
 * @see Loshchilov and Hutter, arXiv:1711.05101; torch.optim.AdamW
 */
export function planUpdate(
  specs: readonly ParameterSpec[],
  state: OptimizerState,
  { learningRate, weightDecay, betas, epsilon, gradientScale }: AdamWOptions,
): UpdatePlan {
  state.step++;
  return {
    betas,
    epsilon,
    gradientScale,
    stepSize: learningRate / (1 - betas[0] ** state.step),
    rootCorrection: Math.sqrt(1 - betas[1] ** state.step),
    tensors: specs.map(({ offset, size, shape }) => ({
      start: offset,
      end: offset + size,
      keep: shape.length > 1 ? 1 - learningRate * weightDecay : 1,
    })),
  };
}

/** Performs a whole update in this thread. */
export function adamW(
  specs: readonly ParameterSpec[],
  from: Float32Array,
  to: Float32Array,
  gradient: Float32Array,
  state: OptimizerState,
  options: AdamWOptions,
): void {
  const { first, second } = state;
  const plan = planUpdate(specs, state, options);
  updateRange({ from, to, gradient, first, second }, plan, { start: 0, end: from.length });
}

/** Performs the part of an update in `range`. */
export function updateRange(arrays: UpdateArrays, plan: UpdatePlan, range: Range): void {
  for (const tensor of plan.tensors) {
    const start = Math.max(tensor.start, range.start);
    const end = Math.min(tensor.end, range.end);
    if (start >= end) continue;
    const part = (array: Float32Array) => array.subarray(start, end);
    const { from, to, gradient, first, second } = arrays;
    updateTensor(part(from), part(to), part(gradient), part(first), part(second), {
      ...plan,
      keep: tensor.keep,
    });
  }
}

interface TensorUpdate extends Omit<UpdatePlan, 'tensors'> {
  readonly keep: number;
}

function updateTensor(
  from: Float32Array,
  to: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  { betas: [beta1, beta2], epsilon, gradientScale, keep, stepSize, rootCorrection }: TensorUpdate,
): void {
  for (let i = 0; i < from.length; i++) {
    const g = gradient[i]! * gradientScale;
    const m = beta1 * first[i]! + (1 - beta1) * g;
    const v = beta2 * second[i]! + (1 - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    to[i] = from[i]! * keep - (stepSize * m) / (Math.sqrt(v) / rootCorrection + epsilon);
  }
}
