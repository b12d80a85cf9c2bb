/**
 * Computes an upper bound of the time that the embedded engine takes for a stage on the CPU cores
 * of this machine.
 */
import { availableParallelism } from 'node:os';
import type { Disk } from '../resolve/base/disk.js';
import type { StageConfig } from '../resolve/base/resolved.js';
import { readModelFolder } from '../resolve/model/model-folder.js';
import { countParameters, tableParameters } from './memory.js';
import { countWork, type StepPlan } from './steps.js';
import { runsRemotely } from './tinker-server.js';

/** Times in seconds on `cores` CPU cores. */
export interface TimePlan {
  readonly sampling: number;
  readonly training: number;
  readonly cores: number;
}

/**
 * Operations per second that one CPU core performs in the engine's matrix products, measured with
 * AVX2.
 */
const coreSpeed = 40e9;
/**
 * Bytes of weights that sampling reads per second, measured on the same machines as `coreSpeed`.
 */
const memorySpeed = 9e9;

/**
 * Computes the time if every prompt and response has the maximum length and each rollout calls the
 * model once. In a sequence of T tokens, each token takes 2 N + 2 L H W T operations. N is the
 * number of parameters without the per-layer embedding table, which is only looked up. L is the
 * number of layers, each with H heads of width W; attention reads half of the sequence on average.
 * Training all weights takes three times as many operations, training an adapter twice as many.
 * Each sampling step takes at least as long as reading all weights, however many sequences it
 * samples. Returns undefined if servers execute the model, if the model is not on this disk, or if
 * the number of steps is unknown. Measured steps of the models in `docs/reference/models.md` take
 * between half and twice this estimate.
 */
export function planTime(
  stage: StageConfig,
  steps: StepPlan,
  disk: Disk,
  cores = availableParallelism(),
): TimePlan | undefined {
  const { model, algorithm, explorer } = stage;
  if (!model.isLocal || runsRemotely(stage)) return undefined;
  const amount = countWork(stage, steps);
  const folder = readModelFolder(disk, model.modelPath);
  if (amount === undefined || folder.kind === 'problem') return undefined;
  const { layers, heads, headDim } = folder.shape;
  const parameters = countParameters(folder.shape) - tableParameters(folder.shape);
  const speed = cores * coreSpeed;
  const perToken = (2 * parameters + 2 * layers * heads * headDim * model.maxModelLen) / speed;
  const together = Math.min(
    explorer.concurrency,
    Math.max(1, steps.mostTasksPerExploreStep * steps.runsPerTask),
  );
  const perSampled = Math.max(perToken, (4 * parameters) / memorySpeed / together);
  const { referenceLogprobs, valueHead } = algorithm.needs;
  const passes = (model.lora ? 2 : 3) + (referenceLogprobs ? 1 : 0) + (valueHead ? 4 : 0);
  return {
    sampling:
      amount.calls * (model.maxPromptTokens * perToken + model.maxResponseTokens * perSampled),
    training: amount.trainRows * model.maxModelLen * passes * perToken,
    cores,
  };
}
