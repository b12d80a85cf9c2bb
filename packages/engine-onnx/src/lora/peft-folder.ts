/**
 * Adapters on disk in the layout of PEFT: `adapter_config.json` and `adapter_model.safetensors`.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isUnset, plainInitialisations, variantKeys } from '@trinity-rft/chat/internal';
import { CheckpointError } from '@trinity-rft/core';
import { parseStoredJson } from '@trinity-rft/core/support';
import { z } from 'zod';

import { isFile, readIfThere, writeWhole } from '../storage/files.js';
import { openSafetensors, writeSafetensors, type SafetensorsFile } from '../storage/safetensors.js';
import type { ModelConfig } from '../model/config.js';
import type { ParameterSpec } from '../model/parameters.js';
import { assertRecordedBase, type BaseModel } from './base-model.js';
import { adapterSpecs, adapterTargets, planAdapters, type AdapterPlan } from './plan.js';

const configFile = 'adapter_config.json';
const weightFile = 'adapter_model.safetensors';
/** PEFT's prefix for the tensor names of a causal language model. */
const namePrefix = 'base_model.model.';

/** The plan of adapters, and their matrices in the order of `adapterTargets`. */
export interface AdapterState {
  readonly plan: AdapterPlan;
  readonly flat: Float32Array;
}

export interface SaveAdaptersOptions extends AdapterState {
  readonly config: ModelConfig;
  /** Path of the frozen model, written as `base_model_name_or_path`. */
  readonly baseModel: string;
}

/** Writes the adapters to a folder. Equal adapters give identical files. */
export async function saveAdapters(
  directory: string,
  { config, plan, flat, baseModel }: SaveAdaptersOptions,
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const text = JSON.stringify(peftConfig(plan, baseModel), null, 2);
  await writeWhole(join(directory, configFile), Buffer.from(`${text}\n`));
  const tensors = adapterSpecs(adapterTargets(config, plan)).map(
    ({ name, shape, offset, size }) => ({
      name: namePrefix + name,
      shape,
      data: flat.subarray(offset, offset + size),
    }),
  );
  await writeSafetensors(join(directory, weightFile), tensors);
}

function peftConfig(
  { rank, alpha, modules }: AdapterPlan,
  baseModel: string,
): Readonly<Record<string, unknown>> {
  return {
    base_model_name_or_path: baseModel,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    lora_alpha: alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: 'LORA',
    r: rank,
    target_modules: modules,
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: false,
  };
}

/**
 * Keys of `adapter_config.json` that change the meaning of the matrices or the base, with their
 * supported values. All other keys, except {@link exceptions}, concern only how the adapters were
 * trained and are ignored.
 */
const understood = {
  peft_type: ['LORA'],
  bias: ['none', undefined],
  fan_in_fan_out: [false, undefined],
  use_dora: [false, undefined],
  use_rslora: [false, undefined],
  use_qalora: [false, undefined],
  lora_bias: [false, undefined],
  init_lora_weights: plainInitialisations,
} as const;
/**
 * Keys that must be unset. `layers_to_transform` is one of them, because adapters of only some
 * layers cannot be trained here.
 */
const exceptions = [...variantKeys, 'layers_to_transform'] as const;

const configSchema = z.looseObject({ r: z.int().positive(), lora_alpha: z.number().positive() });

/**
 * Loads the adapters from a folder.
 * @param base the model that the adapters are added to
 * @throws CheckpointError if a file does not match the model, naming the file and the part that
 * differs, or if the folder records another base model
 */
export async function loadAdapters(
  directory: string,
  config: ModelConfig,
  base: BaseModel,
): Promise<AdapterState> {
  const { r: rank, lora_alpha: alpha } = await readConfig(join(directory, configFile));
  await assertRecordedBase(directory, base);
  const path = join(directory, weightFile);
  if (!(await isFile(path)))
    throw unusable(path, 'the file does not exist; save the adapter as safetensors');
  const file = await openSafetensors(path);
  try {
    return await readMatrices(path, file, config, { rank, alpha });
  } finally {
    await file.close();
  }
}

async function readMatrices(
  path: string,
  file: SafetensorsFile,
  config: ModelConfig,
  size: Pick<AdapterPlan, 'rank' | 'alpha'>,
): Promise<AdapterState> {
  const plan = { ...size, modules: adaptedModules(file, config, size) };
  const specs = adapterSpecs(adapterTargets(config, plan));
  assertNoSurplus(path, file, specs, config);
  const flat = new Float32Array(specs.reduce((sum, spec) => sum + spec.size, 0));
  for (const spec of specs) {
    assertStored(path, file, spec);
    const into = flat.subarray(spec.offset, spec.offset + spec.size);
    await file.read(namePrefix + spec.name, into);
  }
  if (specs.length === 0) throw unusable(path, 'it holds no adapter');
  return { plan, flat };
}

/**
 * Returns the names of the modules with adapters. Reads them from the tensor names, because configs
 * name modules in many ways (endings, patterns, full names).
 */
function adaptedModules(
  file: SafetensorsFile,
  config: ModelConfig,
  size: Pick<AdapterPlan, 'rank' | 'alpha'>,
): readonly string[] {
  const names = [...file.tensors.keys()];
  return planAdapters(config, size).modules.filter((module) =>
    names.some((name) => name.endsWith(`.${module}.lora_A.weight`)),
  );
}

function assertNoSurplus(
  path: string,
  file: SafetensorsFile,
  specs: readonly ParameterSpec[],
  config: ModelConfig,
): void {
  const known = new Set(specs.map(({ name }) => namePrefix + name));
  const surplus = [...file.tensors.keys()].find((name) => !known.has(name));
  if (surplus === undefined) return;
  throw unusable(
    path,
    `tensor ${surplus} has no place in the model; expected names as ${namePrefix}${anyName(config)}`,
  );
}

function assertStored(path: string, file: SafetensorsFile, spec: ParameterSpec): void {
  const stored = file.tensors.get(namePrefix + spec.name);
  const shape = `[${spec.shape.join(', ')}]`;
  if (!stored)
    throw unusable(
      path,
      `tensor ${namePrefix}${spec.name} of shape ${shape} is missing; either all layers of one ` +
        'kind have an adapter, or none',
    );
  if (stored.shape.join() !== spec.shape.join())
    throw unusable(
      path,
      `tensor ${stored.name} has shape [${stored.shape.join(', ')}], but the model and the rank ` +
        `ask for ${shape}`,
    );
}

const anyName = (config: ModelConfig): string =>
  adapterTargets(config, planAdapters(config, { rank: 1, alpha: 1 }))[0]?.a.name ?? '';

async function readConfig(path: string): Promise<z.infer<typeof configSchema>> {
  const text = await readIfThere(path);
  if (text === undefined)
    throw new CheckpointError(
      `${path} cannot be read; expected a folder with an adapter as PEFT writes it.`,
      { code: 'ADAPTER_MISSING' },
    );
  const config = parseConfig(path, String(text));
  for (const [key, values] of Object.entries(understood)) {
    const value = config[key];
    if (!(values as readonly unknown[]).includes(value))
      throw unusable(
        path,
        `${key} is ${JSON.stringify(value)}; expected ${listed(values)}. ${
          key === 'use_rslora'
            ? 'Set it to false and multiply lora_alpha by the square root of r, which gives the same adapter'
            : 'Merge the adapter into its model with PEFT, and give the merged model'
        }`,
      );
  }
  const special = exceptions.find((key) => !isUnset(config[key]));
  if (special !== undefined)
    throw unusable(
      path,
      `${special} is ${JSON.stringify(config[special])}; all layers and tokens must be treated alike`,
    );
  return config;
}

function parseConfig(path: string, text: string): z.infer<typeof configSchema> {
  const json = parseStoredJson(path, text, 'ADAPTER_UNUSABLE');
  try {
    return configSchema.parse(json);
  } catch (cause) {
    throw new CheckpointError(
      `${path} is not the config of a LoRA adapter: expected a positive r and lora_alpha.`,
      { code: 'ADAPTER_UNUSABLE', cause },
    );
  }
}

const listed = (values: readonly unknown[]): string =>
  values
    .filter((value) => value != null)
    .map((value) => JSON.stringify(value))
    .join(', ');

function unusable(path: string, why: string): CheckpointError {
  return new CheckpointError(`${path}: ${why}.`, { code: 'ADAPTER_UNUSABLE' });
}
