/** Format of the weights below an adapter, and the checks that they can be quantised. */
import type { EngineFacts, Quantization } from '@trinity-rft/core/engine';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { Disk } from '../base/disk.js';
import type { StageConfig } from '../base/resolved.js';

const key: KeyPath = ['model', 'quantization'];

/**
 * Format of the weights; undefined for floating point numbers. By default, a quantised GGUF file
 * keeps its format.
 */
export function quantizationOf(
  { quantization, lora, modelPath, isLocal }: StageConfig['model'],
  disk: Pick<Disk, 'isQuantizedGguf'>,
): Quantization | undefined {
  if (lora === undefined || quantization === 'none') return undefined;
  return quantization ?? (isLocal && disk.isQuantizedGguf(modelPath) ? 'file' : undefined);
}

/** Checks a given value; a default that does not fit is not used. */
export function checkQuantization(
  context: StageContext,
  { model, sampler }: Pick<StageConfig, 'model' | 'sampler'>,
  { capabilities }: EngineFacts,
): void {
  const { quantization: given, lora, modelPath, isLocal, fromPreviousStage } = model;
  if (given === undefined || given === 'none') return;
  const refuse = (why: string, uses: readonly KeyPath[] = []): void =>
    context.report(key, `got "${given}", but ${why}`, uses);
  if (lora === undefined)
    refuse(
      'all weights are trained: a step changes a weight by less than the distance of two integers, so nothing would be learned. Set lora_configs, or use none.',
      [['model', 'lora_configs']],
    );
  else if (capabilities.quantization !== true)
    refuse('this engine does not quantise. Remove the key.');
  else if (sampler !== undefined)
    refuse(
      'another program samples, from weights that are not quantised, so what is sampled would differ from what is trained. Use none.',
    );
  else if (fromPreviousStage)
    refuse(
      'the stage starts from a checkpoint, and an adapter beside quantised weights cannot be merged below a new one. Set model_path in this stage, or use none.',
    );
  else if (given === 'file' && isLocal && !context.disk.isQuantizedGguf(modelPath))
    refuse(
      `${modelPath} is not a GGUF file with quantised weights, such as Q8_0 or Q4_K_M. Use int8 or int4, which rounds the weights when they are loaded.`,
      [['model', 'model_path']],
    );
}

/**
 * Reports a stage that starts from a checkpoint of an adapter on quantised weights, because such a
 * checkpoint contains no weights of the model.
 */
export function checkStartingWeights(
  context: StageContext,
  { mode, model }: Pick<StageConfig, 'mode' | 'model'>,
  { model: before }: Pick<StageConfig, 'model'>,
): void {
  const isGiven = model.quantization !== undefined && model.quantization !== 'none';
  // `checkQuantization` reports a given value of this stage.
  if (!model.fromPreviousStage || isGiven || (mode !== 'both' && mode !== 'train')) return;
  // By default only the file of model_path is quantised, not a checkpoint.
  const isFile = before.quantization !== undefined || !before.fromPreviousStage;
  const kind = isFile ? quantizationOf(before, context.disk) : undefined;
  if (kind !== undefined)
    context.report(
      ['model', 'model_path'],
      `the stage before trains an adapter beside quantised weights (${kind}), so its checkpoint has no weights to start from. Set model_path in this stage, or model.quantization: none in the stage before.`,
    );
}
