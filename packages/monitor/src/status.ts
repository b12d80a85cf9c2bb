/** Computes the progress of a training run for the console, as values and as text. */
import type { MetricRecord } from '@trinity-rft/core';

/** Progress of a training run. Each value comes from the latest record that contained it. */
export interface Progress {
  readonly step?: number;
  readonly totalSteps?: number;
  /** Mean reward of the latest explore step, and the number of that step. */
  readonly reward?: number;
  readonly explored?: number | undefined;
  readonly loss?: number;
  readonly tokensPerSecond?: number;
  /**
   * Mean duration of the train steps, except the first one, in seconds. Undefined before the second
   * step.
   */
  readonly secondsPerStep?: number;
}

/** Names of the metrics from which displayed values are taken, keyed by the value's label. */
export const figureMetrics = {
  reward: 'rollout/reward/mean',
  loss: 'actor/final_loss',
  'tokens/s': 'perf/throughput',
} as const;

/** Returns the progress after a record, with the values that the record contains. */
export function follow(progress: Progress, { role, step, metrics }: MetricRecord): Progress {
  if (role === 'explorer') {
    const reward = metrics[figureMetrics.reward];
    return reward === undefined ? progress : { ...progress, reward, explored: step };
  }
  if (role !== 'trainer') return progress;
  return {
    ...progress,
    step,
    loss: metrics[figureMetrics.loss] ?? progress.loss,
    tokensPerSecond: metrics[figureMetrics['tokens/s']] ?? progress.tokensPerSecond,
  };
}

/**
 * Returns the labels and texts of the values that are known, in display order. If the step exceeds
 * the total number of steps, the total was only an estimate, and is not shown.
 */
export function figures({
  step = 0,
  totalSteps: expected,
  reward,
  explored,
  loss,
  tokensPerSecond,
  secondsPerStep,
}: Progress): readonly (readonly [label: string, value: string])[] {
  const totalSteps = expected !== undefined && step <= expected ? expected : undefined;
  const of = explored === undefined || explored === step ? '' : ` (explored ${explored})`;
  return [
    ['step', totalSteps === undefined ? String(step) : `${step}/${totalSteps}`] as const,
    ...(reward === undefined ? [] : [['reward', `${reward.toFixed(3)}${of}`] as const]),
    ...(loss === undefined ? [] : [['loss', shortNumber(loss)] as const]),
    ...(tokensPerSecond === undefined ? [] : [['tokens/s', shortNumber(tokensPerSecond)] as const]),
    ...(totalSteps === undefined || secondsPerStep === undefined
      ? []
      : [['left', duration((totalSteps - step) * secondsPerStep)] as const]),
  ];
}

/**
 * Returns true if a record belongs to an explore step, and false if it belongs to an evaluation.
 */
export const isExploreStep = ({
  role,
  metrics,
}: Pick<MetricRecord, 'role'> & { readonly metrics: object }): boolean =>
  role === 'explorer' && Object.keys(metrics).some((key) => key.startsWith('rollout/'));

/**
 * Returns the step after which an evaluation took place. The evaluation at the end of a training
 * run is recorded under the number after that of the last step. A longer run adds an explore step
 * with that number later.
 * @param isExplored returns true if an explore step with the given number was recorded before the
 *   evaluation
 */
export const evaluatedAfter = (
  { role, step }: Pick<MetricRecord, 'role' | 'step'>,
  isExplored: (step: number) => boolean,
): number => (role === 'bench' || step === 0 || isExplored(step) ? step : step - 1);

/**
 * Returns the mean rewards of evaluations and benchmarks in a record, as texts such as `gsm8k
 * 0.512`.
 */
export function evaluationResults({ metrics }: MetricRecord): readonly string[] {
  return Object.entries(metrics).flatMap(([key, value]) => {
    const set = /^(?:eval|bench)\/(.+)\/reward\/mean(?:@\d+)?$/.exec(key)?.[1];
    return set === undefined ? [] : [`${set} ${value.toFixed(3)}`];
  });
}

/**
 * Formats a number in few characters, such as `1234`, `12.3`, `0.0123` or `1.2e-7`. Numbers of 100
 * and above are rounded to integers, smaller numbers to three significant digits. Numbers outside
 * of [1e-4, 1e7) are written with two significant digits and an exponent.
 */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value) || value === 0) return String(value);
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(1);
  return size >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** Formats a duration, given in seconds, such as `45s`, `3m 20s` or `2h 05m`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
}
