/** Measures the effect of optimizer steps by downloading the adapter before and after them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Logger, EngineError } from '@trinity-rft/core';
import { isOutOfReach, takeAdapter, type Tensors } from './checkpoint/adapter.js';
import type { Connection } from './http/connection.js';
import type { AdamParams, RemoteModel } from './remote/model.js';
import type { Normalisation } from './train/gradients.js';

export interface AdapterProbe {
  readonly model: RemoteModel;
  readonly connection: Connection;
  /**
   * Sends a cross-entropy pass with `weight` on all targets, then an optimizer step.
   * @returns the metrics of the optimizer step
   */
  readonly step: (weight: number, adam: AdamParams) => Promise<Readonly<Record<string, number>>>;
  readonly logger: Logger;
  /** LoRA rank that was requested from the server. */
  readonly rank: number;
}

let saves = 0;

/**
 * Downloads the `lora_B` matrices, whose initial values are zero. Returns undefined if the server
 * offers no adapter archives.
 */
async function readAdapter(probe: AdapterProbe): Promise<Tensors | undefined> {
  const directory = await mkdtemp(path.join(tmpdir(), 'trinity-tinker-'));
  const name = `probe-${++saves}`;
  try {
    const fetched = await takeAdapter(probe, probe.model, { directory, name });
    assertRank(fetched.rank, probe.rank);
    const { tensors } = fetched;
    return new Map([...tensors].filter(([tensor]) => tensor.includes('lora_B')));
  } catch (error) {
    if (isOutOfReach(error)) return undefined;
    throw error;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Checks that the created adapter has the requested rank.
 * @throws EngineError if its rank is smaller
 */
function assertRank(found: number | undefined, asked: number): void {
  if (found === undefined || found >= asked) return;
  throw new EngineError(
    `The Tinker server made an adapter of rank ${found}, but rank ${asked} was asked for. Ask for rank ${found} (lora_configs[0].lora_rank, or model.tinker.rank), or start the server with room for ${asked}.`,
    { code: 'TINKER_RANK' },
  );
}

/** Adam settings with which weights change by the gradient divided by about a million. */
const plain: AdamParams = {
  learning_rate: 1,
  beta1: 0,
  beta2: 0,
  eps: 1e6,
  weight_decay: 0,
  grad_clip_norm: 0,
};

/**
 * Returns the gradient norm of a pass with weight 2, divided by that of a pass with weight 1, or
 * undefined if the adapter cannot be downloaded. The adapter must not have been trained yet.
 */
export async function gradientRatio(probe: AdapterProbe): Promise<number | undefined> {
  let before: Tensors = new Map();
  const norms: number[] = [];
  for (const weight of [1, 2]) {
    await probe.step(weight, plain);
    const tensors = await readAdapter(probe);
    if (tensors === undefined) return undefined;
    norms.push(distance(tensors, before));
    before = tensors;
  }
  const [single = 0, double = 0] = norms;
  return double / single;
}

/** Returns the L2 norm of the change from `before`. Tensors missing in `before` count as zeros. */
function distance(tensors: Tensors, before: Tensors): number {
  let sum = 0;
  for (const [name, values] of tensors) {
    const old = before.get(name);
    for (let i = 0; i < values.length; i++) sum += ((values[i] ?? 0) - (old?.[i] ?? 0)) ** 2;
  }
  return Math.sqrt(sum);
}

/**
 * Returns how the server normalises losses. `ratio` is the gradient norm with doubled weights
 * divided by that with single weights: 2 if losses are summed, 1 if losses are averaged.
 * @throws EngineError if the ratio is neither
 */
export function normalisationOf(ratio: number, tolerance: number): Normalisation {
  if (Math.abs(ratio - 2) < tolerance) return 'sum';
  if (Math.abs(ratio - 1) < tolerance) return 'mean-per-datum';
  throw new EngineError(
    `Weights of 2 instead of 1 make the gradients of the Tinker server ${ratio.toPrecision(4)} times as large: they are neither sums nor means, so no algorithm would be trained as it is written.`,
    { code: 'TINKER_UNSUPPORTED' },
  );
}

export const precisionRemedy =
  'Use a server that keeps adapters and moments in float32 over such a model: TuFT with training_backend: hf, or SkyRL with a model folder whose config.json says "dtype": "float32"';

const largeRate = 0.05;
const steps = 4;
/**
 * Thresholds for the share of weights that change in small optimizer steps. Below `healthy`, a
 * warning is logged; below `refused`, the probe fails.
 */
const shares = { refused: 0.5, healthy: 0.9 } as const;

/**
 * Tests whether the server keeps weights in float32. First, a large optimizer step moves the
 * weights to about 0.05, where bf16 has a resolution of 2.4e-4. Then small steps, with the training
 * run's learning rate but at most 1e-5, must change these weights. They change all of them in
 * float32, and none in half precision.
 * @throws EngineError if most weights do not change
 */
export async function probePrecision(probe: AdapterProbe, adam: AdamParams): Promise<void> {
  const { logger, step } = probe;
  await step(1, { ...adam, learning_rate: largeRate });
  const before = await readAdapter(probe);
  if (before === undefined) return logger.info(untried);
  const learning_rate = Math.min(adam.learning_rate || 1e-5, 1e-5);
  for (let i = 0; i < steps; i++) await step(1, { ...adam, learning_rate });
  const after = await readAdapter(probe);
  if (after === undefined) return logger.info(untried);
  const { entries, moved } = countMoved(before, after);
  const share = moved / Math.max(1, entries);
  logger.debug(`Small steps move ${(100 * share).toFixed(1)} % of a Tinker adapter`);
  if (entries === 0 || share >= shares.healthy) return;
  const found = `${steps} updates at learning rate ${learning_rate} moved ${(100 * share).toFixed(1)} % of the ${entries} entries of an adapter that a larger one had moved`;
  if (share >= shares.refused) logger.warn(`${found} on the Tinker server.`);
  else
    throw new EngineError(
      `The Tinker server keeps adapters in half precision: ${found}. The rest would never be trained. ${precisionRemedy}.`,
      { code: 'TINKER_PRECISION' },
    );
}

const untried =
  'The Tinker server hands out no adapters, so the precision of its optimizer is not tried.';

/**
 * Returns the number of values that are not 0 in `before` (`entries`), and how many of them differ
 * in `after` (`moved`).
 */
function countMoved(before: Tensors, after: Tensors) {
  const counts = { entries: 0, moved: 0 };
  for (const [name, values] of before) {
    const now = after.get(name);
    for (let i = 0; i < values.length; i++) {
      if (values[i] === 0) continue;
      counts.entries++;
      if (values[i] !== now?.[i]) counts.moved++;
    }
  }
  return counts;
}
