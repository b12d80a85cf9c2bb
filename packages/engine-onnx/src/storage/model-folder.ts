/**
 * Reads and writes Hugging Face model folders, and reads GGUF files: config, weights and tokenizer
 * files.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';
import { parseStoredJson } from '@trinity-rft/core/support';
import { isGguf, openGgufModel } from '@trinity-rft/chat/gguf';
import { toolTemplateFile } from '@trinity-rft/chat/internal';

import { layerTraits, type ModelConfig } from '../model/config.js';
import { parameterCount, parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import { parseModelConfig } from '../model/parse-config.js';
import { sharedNumbers } from '../runtime/shared-numbers.js';
import { readIfThere, writeWhole } from './files.js';
import { writeSafetensors } from './safetensors.js';
import { withTemplate } from './template.js';
import { textConfigText, textModelJson, textTensors } from './text-part.js';
import {
  openWeightFiles,
  singleWeightFile,
  type WeightFile,
  type WeightFiles,
} from './weight-files.js';

/**
 * Names of files that the engine does not read but copies, so that a saved folder is a complete
 * model.
 */
export const companionFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  toolTemplateFile,
  'chat_template.json',
  'generation_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
] as const;

/** A model folder without its weights. */
export interface ModelFiles {
  readonly config: ModelConfig;
  /**
   * Text of `config.json`. For a model that also takes images or audio, the config of its text
   * part.
   */
  readonly configText: string;
  /**
   * True if the model is the text part of a model that also takes images or audio.
   * @default false
   */
  readonly isTextPart?: true;
  /** Contents of the folder's `companionFiles`, keyed by file name. */
  readonly companions: ReadonlyMap<string, Uint8Array>;
}

export interface ModelFolder extends ModelFiles {
  /** All parameters in the layout of `parameterSpecs(config)`. */
  readonly weights: Float32Array;
}

/**
 * Loads a model folder or a GGUF file, with its weights.
 * @throws CheckpointError that names the file and key, or the tensor with expected and found shape
 */
export async function loadModelFolder(directory: string): Promise<ModelFolder> {
  const files = await readModelFiles(directory);
  return { ...files, weights: await loadWeights(directory, files.config) };
}

/** Reads config.json and the companion files, or derives them from a GGUF file. */
export async function readModelFiles(directory: string): Promise<ModelFiles> {
  if (isGguf(directory)) return ggufFiles(directory);
  const path = join(directory, 'config.json');
  const configText = (await readIfThere(path))?.toString();
  if (configText === undefined)
    throw new CheckpointError(
      `${path} cannot be read; expected a Hugging Face model folder or a GGUF file.`,
      { code: 'MODEL_CONFIG_MISSING' },
    );
  const companions = new Map<string, Uint8Array>();
  for (const name of companionFiles) {
    const bytes = await readIfThere(join(directory, name));
    if (bytes !== undefined) companions.set(name, bytes);
  }
  const json = parseStoredJson(path, configText, 'MODEL_CONFIG_INVALID');
  const text = textModelJson(json);
  return {
    config: parseModelConfig(text ?? json, path),
    configText: text ? textConfigText(configText) : configText,
    companions,
    ...(text && { isTextPart: true }),
  };
}

/**
 * Reads the sizes and traits of the model in a folder or GGUF file. @throws CheckpointError that
 * names file and key
 */
export const readModelConfig = async (directory: string): Promise<ModelConfig> =>
  (await readModelFiles(directory)).config;

function ggufFiles(path: string): ModelFiles {
  const model = openGgufModel(path);
  try {
    const configText = model.text('config.json') ?? '{}';
    const companions = companionFiles.flatMap((name) => {
      const text = model.text(name);
      return text === undefined ? [] : [[name, Buffer.from(text)] as const];
    });
    return {
      config: parseModelConfig(parseStoredJson(path, configText, 'MODEL_CONFIG_INVALID'), path),
      configText,
      companions: new Map(companions),
      ...(model.isTextPart && { isTextPart: true }),
    };
  } finally {
    model.close();
  }
}

/**
 * Loads the weights of a folder as one flat array in the layout of `parameterSpecs(config)`.
 * @param fresh names of parameters that are set to 0 if the folder does not contain them
 */
export async function loadWeights(
  directory: string,
  config: ModelConfig,
  fresh: readonly string[] = [],
): Promise<Float32Array> {
  let weights: Float32Array | undefined;
  // Allocated at the first read, when the files are known to match the model.
  const all = (): Float32Array => (weights ??= sharedNumbers(parameterCount(config)));
  const read = ({ name, offset, size }: ParameterSpec, file: WeightFile): Promise<void> =>
    file.read(name, all().subarray(offset, offset + size));
  await readParameters(directory, config, read, fresh);
  return all();
}

/**
 * Calls `read` for each parameter, one after another, with the file that contains the parameter.
 * @param fresh names of parameters that may be missing in the folder; `read` is not called for
 * missing ones
 */
export async function readParameters(
  directory: string,
  config: ModelConfig,
  read: (spec: ParameterSpec, file: WeightFile) => Promise<void>,
  fresh: readonly string[] = [],
): Promise<void> {
  const files = textTensors(await openWeightFiles(directory));
  try {
    const specs = parameterSpecs(config).filter(
      ({ name }) => files.tensors.has(name) || !fresh.includes(name),
    );
    const stored = storedTensors(directory, specs, files);
    assertNoSurplus(directory, specs, files, config);
    for (const { spec, file } of stored) await read(spec, file);
  } finally {
    await files.close();
  }
}

/**
 * Checks that the weights of a folder match its config. Reads only the headers of the weight files.
 * @throws CheckpointError as {@link loadWeights} does
 */
export async function checkWeights(directory: string, config: ModelConfig): Promise<void> {
  const files = textTensors(await openWeightFiles(directory));
  try {
    const specs = parameterSpecs(config);
    storedTensors(directory, specs, files);
    assertNoSurplus(directory, specs, files, config);
  } finally {
    await files.close();
  }
}

interface StoredTensor {
  readonly spec: ParameterSpec;
  readonly file: WeightFile;
}

/**
 * Returns the file of each parameter's tensor.
 * @throws CheckpointError when a tensor is missing or has another shape
 */
function storedTensors(
  directory: string,
  specs: readonly ParameterSpec[],
  files: WeightFiles,
): readonly StoredTensor[] {
  const [missing, ...more] = specs.filter(({ name }) => !files.tensors.has(name));
  if (missing)
    throw mismatch(
      directory,
      missing.name,
      `tensor ${missing.name} of shape ${inBrackets(missing.shape)} is missing${andMore(more)}`,
    );
  return specs.flatMap((spec) => {
    const { name, shape } = spec;
    const file = files.tensors.get(name);
    const found = file?.tensors.get(name)?.shape ?? [];
    if (found.join() !== shape.join())
      throw mismatch(
        directory,
        name,
        `tensor ${name} in ${file?.file} has shape ${inBrackets(found)}, but config.json asks for ` +
          inBrackets(shape),
      );
    return file ? [{ spec, file }] : [];
  });
}

const inBrackets = (shape: readonly number[]): string => `[${shape.join(', ')}]`;
const andMore = ({ length }: readonly unknown[]): string =>
  length > 0 ? ` (and ${length} more)` : '';

/**
 * Returns true for tensors that a checkpoint may contain although the model has no such parameter:
 * a tied or unused head, keys and values of layers that read those of another layer, and stored
 * constants.
 */
function isKnownSurplus(name: string, config: ModelConfig): boolean {
  const layer = /^model\.layers\.(\d+)\.self_attn\.(?:k_proj|v_proj|k_norm)\.weight$/.exec(
    name,
  )?.[1];
  return (
    (layer !== undefined && layerTraits(config, Number(layer)).keysOf !== undefined) ||
    ((config.tieEmbeddings || config.head === 'value') && name === 'lm_head.weight') ||
    name.endsWith('.rotary_emb.inv_freq')
  );
}

/**
 * Checks that the folder has no tensor that the model does not have, except those of
 * {@link isKnownSurplus}.
 * @throws CheckpointError naming the first such tensor
 */
function assertNoSurplus(
  directory: string,
  specs: readonly ParameterSpec[],
  files: WeightFiles,
  config: ModelConfig,
): void {
  const expected = new Set(specs.map((spec) => spec.name));
  const [surplus, ...more] = [...files.tensors].filter(
    ([name]) => !expected.has(name) && !isKnownSurplus(name, config),
  );
  if (surplus === undefined) return;
  const [name, { file, tensors }] = surplus;
  const shape = inBrackets(tensors.get(name)?.shape ?? []);
  throw mismatch(
    directory,
    name,
    `tensor ${name} of shape ${shape} in ${file} has no place in a ${config.family} model of this ` +
      `config.json${andMore(more)}`,
  );
}

function mismatch(directory: string, tensor: string, what: string): CheckpointError {
  return new CheckpointError(
    `${directory}: ${what}. config.json and the weights must be of the same model.`,
    { code: 'WEIGHTS_MISMATCH', details: { tensor } },
  );
}

/**
 * Writes all files of a model folder except the weights, and removes the weights of an earlier
 * save.
 */
export async function saveModelFiles(directory: string, files: ModelFiles): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeWhole(join(directory, 'config.json'), Buffer.from(withStoredType(files.configText)));
  for (const [name, bytes] of withTemplate(files.companions))
    await writeWhole(join(directory, name), bytes);
  await rm(join(directory, singleWeightFile), { force: true });
}

/**
 * Writes a complete model folder with float32 weights. Equal input gives identical files.
 * @throws CheckpointError, before anything is written, when the number of weights does not match
 * the config
 */
export async function saveModelFolder(
  directory: string,
  files: ModelFiles,
  weights: Float32Array,
): Promise<void> {
  const count = parameterCount(files.config);
  if (weights.length !== count)
    throw mismatch(directory, 'all', `${weights.length} weights for a model of ${count}`);
  await saveModelFiles(directory, files);
  const tensors = parameterSpecs(files.config).map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: weights.subarray(offset, offset + size),
  }));
  await writeSafetensors(join(directory, singleWeightFile), tensors);
}

/**
 * Sets the data type of the weights in config.json. Otherwise transformers would convert the
 * weights to the previous data type.
 */
export const withStoredType = (configText: string, dtype = 'float32'): string =>
  configText.replaceAll(/("(?:torch_)?dtype"\s*:\s*)"[^"]*"/g, `$1"${dtype}"`);
