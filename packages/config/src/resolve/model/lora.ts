/** Resolves the adapter that is trained instead of the weights. */
import { join } from 'node:path';
import { didYouMean, tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';
import type { Disk } from '../base/disk.js';
import type { AdapterShape, LoraConfig, NewAdapter, StoredAdapter } from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import { reportAddress } from '../base/paths.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import { linearModulesOf, type ModelShape } from './model-folder.js';

const section: KeyPath = ['model', 'lora_configs'];
const configFile = 'adapter_config.json';
const first = (key: string): KeyPath => [...section, 0, key];

type Input = NonNullable<StageContext['input']['model']['lora_configs']>[number];

export function deriveLora(
  context: StageContext,
  shape: ModelShape | undefined,
): LoraConfig | undefined {
  const [input, ...others] = context.input.model.lora_configs ?? [];
  if (input === undefined) {
    warnOfWholeModels(context);
    return undefined;
  }
  if (others.length > 0)
    context.report(
      [...section, 1],
      'is a second adapter. Only one can be trained; remove the others.',
    );
  if (typeof input.path === 'string') return deriveStored(context, input, input.path);
  const excluded: readonly string[] = input.exclude_modules ?? [];
  const all = input.target_modules.includes('all-linear');
  const named = input.target_modules.filter((name) => !excluded.includes(name));
  const adapter: NewAdapter = {
    name: input.name ?? undefined,
    path: undefined,
    rank: input.lora_rank,
    alpha: input.lora_alpha,
    targetModules: all ? 'all-linear' : named,
    ...(all && excluded.length > 0 && { excludeModules: excluded }),
  };
  if (shape && !all) checkLayers(context, named, shape);
  const lora = shape ? withLayers(adapter, shape) : adapter;
  if (lora.targetModules.length === 0)
    context.report(
      first('exclude_modules'),
      'excludes every layer. Name fewer layers, or remove the key.',
      [first('target_modules')],
    );
  return lora;
}

/** Reports a name in `target_modules` that is not a layer of the model. */
function checkLayers(context: StageContext, names: readonly string[], shape: ModelShape): void {
  const known = ['all-linear', ...linearModulesOf(shape)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    context.report(
      first('target_modules'),
      `"${unknown}" is not a layer of the model that can get an adapter; expected all-linear, or some of ${known.slice(1).join(', ')}.${didYouMean(unknown, known)}`,
      [['model', 'model_path']],
    );
}

/** Returns a new adapter that names its layers if `excludeModules` excludes some of the model's. */
export function withLayers(adapter: NewAdapter, shape: ModelShape): NewAdapter {
  const { excludeModules, ...rest } = adapter;
  if (excludeModules === undefined) return adapter;
  const layers = linearModulesOf(shape).filter((name) => !excludeModules.includes(name));
  return { ...rest, targetModules: layers };
}

function warnOfWholeModels(context: StageContext): void {
  if (context.input.trainer.save_hf_checkpoint === 'never')
    context.warn(
      ['trainer', 'save_hf_checkpoint'],
      'ignored. Without lora_configs all weights are trained, so every checkpoint holds them.',
    );
}

const adapterSchema = z.object({
  r: z.number(),
  lora_alpha: z.number(),
  // A list of names, `all-linear`, or a regular expression.
  target_modules: z
    .union([z.literal('all-linear'), z.array(z.string()).transform(withoutPlaces)])
    .optional()
    .catch(undefined),
  base_model_name_or_path: z.string().optional().catch(undefined),
});

/**
 * Returns the names of modules without their place in the model, such as `q_proj` for
 * `self_attn.q_proj`.
 */
function withoutPlaces(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => name.slice(name.lastIndexOf('.') + 1)))];
}

interface AdapterFolder extends AdapterShape {
  /** Path of the adapter's base model, if the folder names the model. */
  readonly baseModel: string | undefined;
}

/**
 * Reads `adapter_config.json` of a folder. Returns undefined if the file is missing, or names no
 * rank or no alpha.
 */
export function readAdapter(disk: Disk, folder: string): AdapterFolder | undefined {
  const text = disk.readText(join(folder, configFile));
  const { data } = adapterSchema.safeParse(tryJson(text));
  return (
    data && {
      rank: data.r,
      alpha: data.lora_alpha,
      targetModules: data.target_modules,
      baseModel: data.base_model_name_or_path,
    }
  );
}

/**
 * Resolves a stored adapter, whose folder determines the settings. Reports keys that contradict the
 * folder.
 */
function deriveStored(context: StageContext, input: Input, given: string): StoredAdapter {
  if (reportAddress(context, first('path'), given)) return { name: undefined, path: given };
  const path = context.disk.resolve(given);
  const adapter = readAdapter(context.disk, path);
  if (adapter === undefined) {
    const what =
      context.disk.readText(join(path, configFile)) === undefined
        ? 'no readable adapter_config.json'
        : 'an adapter_config.json without r and lora_alpha';
    context.report(
      first('path'),
      `got "${given}", but ${path} has ${what}. Give the folder of a LoRA adapter, as PEFT saves it.`,
    );
  } else {
    for (const [key, value, own] of [
      ['lora_rank', input.lora_rank, adapter.rank],
      ['lora_alpha', input.lora_alpha, adapter.alpha],
    ] as const)
      if (context.isSet(...first(key)) && value !== own)
        context.report(
          first(key),
          `got ${value}, but the adapter in ${path} has ${own}. Remove the key.`,
          [first('path')],
        );
  }
  const names = ['target_modules', 'exclude_modules'];
  sayIgnored(context, [...section, 0], names, 'The folder of the adapter names its layers.');
  return { name: input.name ?? undefined, path };
}
