/** Optimizer settings of a training run, and the learning rate of each of its train steps. */
import { ConfigError } from '@trinity-rft/core';
import type { OptimizerOptions } from '@trinity-rft/core/engine';

/**
 * Schedule of the learning rate. Field names are the camelCase forms of those in the
 * configuration's optimizer section.
 */
export interface ScheduleSettings {
  /** Peak learning rate. */
  readonly lr: number;
  readonly lrSchedulerType: 'constant' | 'cosine';
  /**
   * Number of train steps in which the rate rises linearly.
   * @default `lrWarmupStepsRatio` times the number of all train steps
   */
  readonly lrWarmupSteps?: number;
  /** Warm-up steps as a fraction of all train steps. @default 0 */
  readonly lrWarmupStepsRatio?: number;
  /** Minimum learning rate, as a fraction of `lr`. @default 0 */
  readonly minLrRatio?: number;
}

/**
 * Optimizer settings of a model. Field names are the camelCase forms of those in the
 * configuration's optimizer section.
 */
export interface OptimizerSettings
  extends ScheduleSettings, Pick<OptimizerOptions, 'betas' | 'weightDecay' | 'clipGradNorm'> {}

/**
 * Returns the learning rate of train step `step` (1, 2, …) of `totalSteps`. With step s, W warm-up
 * steps, N total steps and minimum ratio ρ, the peak rate is multiplied by ρ + (1 - ρ) s / W for s
 * < W. After that, it is multiplied by 1 (constant) or by max(ρ, ρ + (1 - ρ) ½ (1 + cos(π min(1, (s
 * - W) / max(1, N - W))))) (cosine). Trinity-RFT's Tinker trainer uses the same formula, except
 * that here a constant schedule without warm-up ignores ρ. In verl and in `constant_with_warmup` of
 * transformers, the factor of step s is (s - 1) / W: their first step has rate 0, and they reach
 * the peak one step later.
 */
export function learningRateAt(
  step: number,
  settings: ScheduleSettings,
  totalSteps: number | undefined,
): number {
  const { lr, lrSchedulerType, lrWarmupStepsRatio = 0, minLrRatio = 0 } = settings;
  const warmupSteps = settings.lrWarmupSteps ?? Math.floor(lrWarmupStepsRatio * (totalSteps ?? 0));
  if (step < warmupSteps) return lr * (minLrRatio + ((1 - minLrRatio) * step) / warmupSteps);
  if (lrSchedulerType === 'constant' || totalSteps === undefined) return lr;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  const cosine = 0.5 * (1 + Math.cos(Math.PI * progress));
  return lr * Math.max(minLrRatio, minLrRatio + (1 - minLrRatio) * cosine);
}

/** Returns the optimizer options for the update of train step `step`. */
export function optimizerAt(
  step: number,
  settings: OptimizerSettings,
  totalSteps: number | undefined,
): OptimizerOptions {
  const { betas, weightDecay, clipGradNorm } = settings;
  return {
    learningRate: learningRateAt(step, settings, totalSteps),
    betas,
    weightDecay,
    clipGradNorm,
  };
}

/**
 * Checks that the learning rate of every train step can be computed.
 * @param section path of the optimizer settings in the configuration, for the error message
 * @throws ConfigError if the schedule depends on the total number of train steps, and that number
 * is unknown
 */
export function assertScheduleKnown(
  section: string,
  { lrSchedulerType, lrWarmupSteps, lrWarmupStepsRatio = 0 }: ScheduleSettings,
  totalSteps: number | undefined,
): void {
  const cosine = lrSchedulerType === 'cosine';
  const warmupByRatio = lrWarmupSteps === undefined && lrWarmupStepsRatio > 0;
  if (totalSteps !== undefined || (!cosine && !warmupByRatio)) return;
  const key = cosine ? 'lr_scheduler_type cosine' : 'lr_warmup_steps_ratio';
  throw new ConfigError(
    `${section}: ${key} needs the number of train steps, which this configuration does not determine. Set trainer.total_steps${warmupByRatio ? ', or lr_warmup_steps' : ''}.`,
    { code: 'SCHEDULE_NEEDS_STEPS' },
  );
}
