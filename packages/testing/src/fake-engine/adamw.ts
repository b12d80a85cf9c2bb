/** The AdamW optimizer, in float64, for a single array of weights. */
import type { OptimizerOptions, StepStats } from '@trinity-rft/core/engine';

export interface AdamState {
  /** Number of optimizer steps so far. */
  step: number;
  readonly first: Float64Array;
  readonly second: Float64Array;
}

export const createAdamState = (size: number): AdamState => ({
  step: 0,
  first: new Float64Array(size),
  second: new Float64Array(size),
});

/**
 * Performs an AdamW step on the weights, in place. If the gradient is not finite, nothing is
 * changed.
 * @see Loshchilov & Hutter, arXiv:1711.05101, algorithm 2
 */
export function adamStep(
  weights: Float64Array,
  gradient: Float64Array,
  state: AdamState,
  options: OptimizerOptions,
): StepStats {
  const {
    learningRate,
    betas = [0.9, 0.999],
    epsilon = 1e-8,
    weightDecay = 0.01,
    clipGradNorm = 1,
  } = options;
  const gradNorm = Math.hypot(...chunkNorms(gradient));
  if (!Number.isFinite(gradNorm)) return { step: state.step, gradNorm, skipped: true };
  const scale = clipGradNorm > 0 && gradNorm > clipGradNorm ? clipGradNorm / gradNorm : 1;
  state.step++;
  const firstBias = 1 - betas[0] ** state.step;
  const secondBias = 1 - betas[1] ** state.step;
  for (let i = 0; i < weights.length; i++) {
    const g = gradient[i]! * scale;
    state.first[i] = betas[0] * state.first[i]! + (1 - betas[0]) * g;
    state.second[i] = betas[1] * state.second[i]! + (1 - betas[1]) * g * g;
    const update =
      state.first[i]! / firstBias / (Math.sqrt(state.second[i]! / secondBias) + epsilon);
    weights[i] = weights[i]! - learningRate * (update + weightDecay * weights[i]!);
  }
  return { step: state.step, gradNorm, skipped: false };
}

/**
 * Returns the L2 norm of each chunk of 1024 values. Chunks are needed because `Math.hypot` accepts
 * only a limited number of arguments, and a plain sum of squares may overflow.
 */
function chunkNorms(values: Float64Array): number[] {
  const norms: number[] = [];
  for (let start = 0; start < values.length; start += 1024)
    norms.push(Math.hypot(...values.subarray(start, start + 1024)));
  return norms;
}
