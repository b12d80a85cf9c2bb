import { join } from 'node:path';
import { tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';
import type { Disk } from '../base/disk.js';
import type { BaseWeights, ContinuedAdapter, ModelConfig } from '../base/resolved.js';
import { readAdapter } from './lora.js';

/**
 * Returns the weights that a stage starts with. An adapter on quantised weights is continued,
 * because it cannot be merged. If the engine supports quantised weights, those of a GGUF file are
 * used in the format of the file by default.
 * @param previous model of the last stage before that trains
 */
export function weightsOf(
  model: Omit<ModelConfig, 'base'>,
  previous: ModelConfig | undefined,
  { disk, canQuantize }: Pick<BaseWeights, 'canQuantize'> & { readonly disk: Disk },
): BaseWeights {
  const { quantization: given, lora, modelPath, isLocal, fromPreviousStage } = model;
  const file = isLocal && !fromPreviousStage ? modelPath : undefined;
  const continued =
    file === undefined
      ? fromPreviousStage && previous && lastCheckpointOf(previous, disk)
      : checkpointIn(file, disk);
  if (continued) return { quantization: continued.quantization, continued, canQuantize };
  const keepsFile = canQuantize && file !== undefined && disk.isQuantizedGguf(file);
  const kind = given ?? (keepsFile ? 'file' : 'none');
  const quantization = lora === undefined || kind === 'none' ? undefined : kind;
  return { quantization, continued: undefined, canQuantize };
}

/**
 * Returns the adapter in a stage's last checkpoint if the adapter's base weights are quantised,
 * otherwise undefined.
 */
function lastCheckpointOf(
  { base, lora, modelPath }: ModelConfig,
  disk: Disk,
): ContinuedAdapter | undefined {
  const { quantization, continued } = base;
  if (quantization === undefined || continued) return continued;
  return {
    quantization,
    modelPath,
    adapter: lora?.path === undefined ? lora : readAdapter(disk, lora.path),
  };
}

const recordSchema = z.object({ quantization: z.enum(['int8', 'int4', 'file']) });

/**
 * Returns the adapter of the checkpoint in a folder if the adapter's base weights are quantised,
 * otherwise undefined.
 */
function checkpointIn(folder: string, disk: Disk): ContinuedAdapter | undefined {
  const place = join(folder, 'lora_adapter');
  const record = recordSchema.safeParse(tryJson(disk.readText(join(place, 'base_model.json'))));
  if (!record.success) return undefined;
  const adapter = readAdapter(disk, place);
  const modelPath = disk.resolve(adapter?.baseModel ?? folder);
  return { quantization: record.data.quantization, modelPath, adapter };
}
