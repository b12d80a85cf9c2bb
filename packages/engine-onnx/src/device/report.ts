/** Result of comparing a GPU with the CPU, and the choice of a device from this result. */
import type { DeviceChoice } from '@trinity-rft/core/engine';
import { z } from 'zod';

/** Maximum accepted differences between results of the GPU and of the CPU. */
export const tolerances = {
  /** Maximum difference in a log-probability of the tiny model, in nats. */
  logprobs: 1e-4,
  /**
   * Maximum difference in a gradient of the tiny model, relative to the largest entry of the same
   * tensor. The gradient is a running mean over two steps.
   */
  gradients: 1e-4,
  /**
   * Maximum difference in a weight of the tiny model after five steps, which change a weight by up
   * to 5e-3.
   */
  weights: 1e-4,
  /**
   * Maximum difference in a log-probability of the measured model, in nats. Rounding errors grow
   * with the number of layers.
   */
  model: 1e-3,
} as const;

/**
 * Minimum speed-up for using the GPU. With a smaller speed-up, a different load on the machine
 * could make the CPU faster.
 */
const leastSpeedup = 1.5;

const differences = z.object({
  logprobs: z.number(),
  gradients: z.number(),
  weights: z.number(),
  /**
   * Number of tokens whose log-probability on the GPU differs between sampling and the training
   * pass.
   */
  unequal: z.number(),
});

const step = z.object({
  /** Description of the measured model, as a noun phrase. */
  model: z.string(),
  cpuMs: z.number(),
  gpuMs: z.number(),
  /** True if the GPU was stopped after `gpuMs` because it had not finished two steps. */
  isStopped: z.boolean(),
  /**
   * Largest difference between a log-probability on the GPU and on the CPU, in nats; 0 if the GPU
   * was stopped.
   */
  logprobs: z.number(),
  /**
   * Number of sampled tokens of the measured model whose log-probability on the GPU differs between
   * sampling and the training pass.
   */
  unequal: z.number(),
});

const report = z.object({
  /** Name of the GPU. */
  gpu: z.string(),
  /** Differences between GPU and CPU for the tiny model. */
  numbers: differences,
  /** Measurement of a training step; undefined if the tiny model's results fail the check. */
  step: step.optional(),
});

/** A check without a result: its process crashed, or was stopped at the deadline. */
const failed = z.object({
  /** Reason, in one or more sentences. */
  failure: z.string(),
});

export const outcomeSchema = z.union([report, failed]);

export type NumberDifferences = Readonly<z.infer<typeof differences>>;
export type StepTimes = Readonly<z.infer<typeof step>>;
export type DeviceReport = Readonly<z.infer<typeof report>>;
export type CheckOutcome = DeviceReport | Readonly<z.infer<typeof failed>>;

/** Chooses the device for a model from the outcome of its check, and states the reason. */
export function verdictOf(outcome: CheckOutcome): DeviceChoice {
  if ('failure' in outcome)
    return {
      device: 'cpu',
      why: `${outcome.failure} \`trinity doctor gpu FILE\` checks again.`,
    };
  const wrong = wrongNumbers(outcome);
  if (wrong !== undefined || !outcome.step) return { device: 'cpu', why: wrong ?? '' };
  const { cpuMs, gpuMs, isStopped, model } = outcome.step;
  const speedup = cpuMs / gpuMs;
  const isFaster = !isStopped && speedup >= leastSpeedup;
  const order =
    speedup >= 1 ? `${times(speedup)} times faster` : `${times(1 / speedup)} times slower`;
  const found = isStopped
    ? `two were not done after ${milliseconds(gpuMs)}`
    : `it takes ${milliseconds(gpuMs)}, ${order}`;
  const enough = isFaster || isStopped || speedup < 1 ? '' : `, but not ${leastSpeedup} times`;
  return {
    device: isFaster ? 'webgpu' : 'cpu',
    why: `A step of ${model} takes ${milliseconds(cpuMs)} on the CPU; on ${outcome.gpu} ${found}${enough}.`,
  };
}

/**
 * Returns a sentence on how the GPU's results differ from those expected, or undefined if they pass
 * the check.
 */
export function wrongNumbers({ gpu, numbers, step: measured }: DeviceReport): string | undefined {
  const unequal = Math.max(numbers.unequal, measured?.unequal ?? 0);
  if (unequal > 0)
    return `On ${gpu} the log-probabilities of ${unequal} sampled tokens differ from those of the training pass, which has to give the same bits.`;
  const found = [
    ['log-probability', numbers.logprobs, tolerances.logprobs],
    ['gradient', numbers.gradients, tolerances.gradients],
    ['weight', numbers.weights, tolerances.weights],
    [`log-probability of ${measured?.model}`, measured?.logprobs ?? 0, tolerances.model],
  ] as const;
  const wrong = found.find(([, difference, most]) => !(difference <= most));
  return (
    wrong &&
    `On ${gpu} a ${wrong[0]} differs from the CPU's by ${wrong[1].toPrecision(2)}; at most ${wrong[2]} passes.`
  );
}

const times = (factor: number): string => factor.toFixed(1);

const milliseconds = (ms: number): string =>
  ms < 10_000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(0)} s`;
