/**
 * Replaces hyperparameters that are `auto` with values that suit the model and the number of rows.
 */
import { readModelConfig } from '@trinity-rft/engine-onnx';
import type { Hyperparameters, MethodName } from '../wire/job-request.js';

interface Auto {
  /** Returns the batch size for a number of rows. */
  readonly batch: (rows: number) => number;
  /** Returns the number of epochs for a number of rows and a batch size. */
  readonly epochs: (rows: number, batch: number) => number;
  /** Factor of the learning rate, relative to supervised jobs. */
  readonly rate: number;
}

const within = (low: number, value: number, high: number): number =>
  Math.max(low, Math.min(high, Math.ceil(value)));

/**
 * Rules for `auto`, by method. For supervised jobs and DPO: three epochs, with a batch size that
 * gives about 25 steps per epoch, as with OpenAI's `auto`. For reinforcement: at least 50 steps in
 * total. DPO and reinforcement use lower learning rates than supervised jobs, as in the recipes of
 * the Tinker cookbook.
 */
const autos: Readonly<Record<MethodName, Auto>> = {
  supervised: { batch: (rows) => within(1, rows / 25, 64), epochs: () => 3, rate: 1 },
  dpo: { batch: (rows) => within(1, rows / 25, 64), epochs: () => 3, rate: 0.05 },
  reinforcement: {
    batch: (rows) => within(1, rows / 25, 32),
    epochs: (rows, batch) => Math.max(3, Math.ceil((50 * batch) / rows)),
    rate: 0.1,
  },
};

const others: Readonly<Record<string, number>> = {
  beta: 0.1,
  compute_multiplier: 1,
  eval_interval: 10,
  eval_samples: 1,
  learning_rate_multiplier: 1,
};

/**
 * Replaces `auto` in the hyperparameters of a job with numbers. Limits the batch size to the number
 * of rows, because a larger batch would contain rows twice.
 */
export function resolveHyperparameters(
  given: Hyperparameters,
  method: MethodName,
  rows: number,
): Readonly<Record<string, number>> {
  const { batch, epochs } = autos[method];
  const batchSize = Math.min(rows, asNumber(given['batch_size']) ?? batch(rows));
  const known: Readonly<Record<string, number>> = { ...others, n_epochs: epochs(rows, batchSize) };
  const wanted: Hyperparameters = { ...given, batch_size: batchSize };
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) => {
      const number = asNumber(value) ?? (value === 'auto' ? known[name] : undefined);
      return number === undefined ? [] : [[name, number]];
    }),
  );
}

const asNumber = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;

/** Learning rate of an adapter for a hidden size of 2,000. */
const adapterRate = 5e-4;

/**
 * Returns the learning rate of an adapter before it is scaled by `learning_rate_multiplier`. For
 * supervised jobs, it is 5e-4 (2000 / hidden size)^p, where p is 0.0775 for Qwen and 0.781 for
 * other models. For other methods, it is lower by a constant factor. The formula is that of the
 * Tinker cookbook (`get_lr`), which was fitted on Llama and Qwen.
 * @param model path of a model folder or GGUF file
 */
export async function baseRate(model: string, method: MethodName): Promise<number> {
  const { family, hiddenSize } = await readModelConfig(model);
  const power = String(family).startsWith('qwen') ? 0.0775 : 0.781;
  const rate = adapterRate * (2000 / hiddenSize) ** power * autos[method].rate;
  return Number(rate.toPrecision(2));
}
