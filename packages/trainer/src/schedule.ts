/** The learning rate of each optimizer step. */

export interface ScheduleOptions {
  /** Peak learning rate. */
  readonly learningRate: number;
  readonly kind: 'constant' | 'cosine';
  /** Steps of linear warm-up, at least 0. */
  readonly warmupSteps: number;
  /** Floor, as a share of the peak. */
  readonly minRatio: number;
  /** Needed by `cosine`: the step at which the floor is reached. */
  readonly totalSteps?: number;
}

/**
 * Learning rate of optimizer step `step` (1, 2, …). With W warm-up steps, N total steps and floor
 * ρ: s < W: ρ + (1 - ρ) s / W; after that 1 (constant), or max(ρ, ρ + (1 - ρ) ½ (1 + cos(π min(1,
 * (s - W) / max(1, N - W))))) (cosine); all times the peak. As in Trinity's Tinker trainer, except
 * that a constant schedule without warm-up never reads ρ.
 */
export function learningRateAt(step: number, options: ScheduleOptions): number {
  const { learningRate, kind, warmupSteps, minRatio, totalSteps } = options;
  if (step < warmupSteps) return learningRate * (minRatio + ((1 - minRatio) * step) / warmupSteps);
  if (kind === 'constant' || totalSteps === undefined) return learningRate;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  return (
    learningRate *
    Math.max(minRatio, minRatio + (1 - minRatio) * 0.5 * (1 + Math.cos(Math.PI * progress)))
  );
}
