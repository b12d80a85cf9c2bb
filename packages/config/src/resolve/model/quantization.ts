/**
 * Resolves the format of the weights below an adapter, and checks that these weights can be
 * quantised.
 */
import type { EngineFacts, Quantization } from '@trinity-rft/core/engine';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { Disk } from '../base/disk.js';
import type { NewAdapter, StageConfig } from '../base/resolved.js';

const key: KeyPath = ['model', 'quantization'];

/**
 * Returns the format of the weights, or undefined for floating-point numbers. By default, a
 * quantised GGUF file keeps its format.
 */
export function quantizationOf(
  { quantization, lora, modelPath, isLocal }: StageConfig['model'],
  disk: Pick<Disk, 'isQuantizedGguf'>,
): Quantization | undefined {
  if (lora === undefined || quantization === 'none') return undefined;
  return quantization ?? (isLocal && disk.isQuantizedGguf(modelPath) ? 'file' : undefined);
}

/** Checks a value that the file sets. */
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
  else if (
    given === 'file' &&
    isLocal &&
    !fromPreviousStage &&
    !context.disk.isQuantizedGguf(modelPath)
  )
    refuse(
      `${modelPath} is not a GGUF file with quantised weights, such as Q8_0 or Q4_K_M. Use int8 or int4, which rounds the weights when they are loaded.`,
      [['model', 'model_path']],
    );
}

/**
 * Checks a stage that starts from the last checkpoint of the previous stage. If that checkpoint has
 * an adapter on quantised weights, it contains only the adapter, and the stage continues to train
 * it.
 * @param before quantization of that checkpoint
 * @returns quantization of the stage's own checkpoints
 */
export function checkStartingWeights(
  context: StageContext,
  { mode, model }: Pick<StageConfig, 'mode' | 'model'>,
  { model: previous }: Pick<StageConfig, 'model'>,
  before: Quantization | undefined,
): Quantization | undefined {
  const { fromPreviousStage, quantization: given, lora } = model;
  if (!fromPreviousStage) return quantizationOf(model, context.disk);
  const trains = mode === 'both' || mode === 'train';
  if (before === undefined) {
    if (trains && given === 'file')
      context.report(
        key,
        'got "file", but the stage starts from a checkpoint of the stage before, whose weights are floating point numbers. Use int8 or int4, which rounds them, none, or set model_path in this stage.',
      );
    return lora && given !== 'none' ? given : undefined;
  }
  if (!trains) return before;
  const found = `this stage continues the adapter that the previous stage trains on quantised weights (${before})`;
  if (given !== undefined && given !== before)
    context.report(
      key,
      `got "${given}", but ${found}. Use ${before}, or set model_path in this stage.`,
    );
  else if (lora === undefined)
    context.report(
      ['model', 'lora_configs'],
      `is not set, but ${found}. Set it as there, or set model_path in this stage.`,
    );
  else if (given === undefined && model.device === 'webgpu')
    context.report(
      ['model', 'device'],
      `got "webgpu", but ${found}, and only the CPU computes with quantised weights. Use cpu, or set model_path in this stage.`,
    );
  else if (lora.path !== undefined)
    context.report(
      ['model', 'lora_configs', 0, 'path'],
      `got "${lora.path}", but ${found}. Give lora_rank, lora_alpha and target_modules of that adapter instead, or set model_path in this stage.`,
    );
  else if (previous.lora?.path === undefined && adapterText(lora) !== adapterText(previous.lora))
    context.report(
      ['model', 'lora_configs'],
      `got ${adapterText(lora)}, but ${found}: ${adapterText(previous.lora)}. Use the same, or set model_path in this stage.`,
    );
  return before;
}

const adapterText = (adapter: NewAdapter | undefined): string =>
  adapter === undefined
    ? 'none'
    : `rank ${adapter.rank}, alpha ${adapter.alpha}, ${[adapter.targetModules].flat().join(', ')}`;
