/** Writes a LoRA adapter in PEFT's layout as GGUF, to be used with the GGUF file of its model. */
import { refused } from '../file/failure.js';
import { f32, text } from '../file/typed-value.js';
import { writeGguf, type TensorToWrite } from '../file/write-file.js';
import { orderOf } from '../model/layout.js';
import { ggufName, parseName, type ParsedName } from '../model/names.js';
import { readSavedConfig, type Json, type SavedConfig } from './config.js';
import { generalKeys, type ModelCard } from './keys.js';
import { isUnset, plainInitialisations, variantKeys } from './peft-variants.js';
import { counts, type SavedGguf, type WeightSource } from './save-model.js';
import { arranged, partsOf } from './tensors.js';

export interface SaveGgufAdapterOptions extends ModelCard {
  /** Parsed `adapter_config.json`. */
  readonly adapter: Json;
  /** Parsed `config.json` of the model that the adapter was trained for. */
  readonly config: Json;
  /** Tensors of `adapter_model.safetensors`, by their names in that file. */
  readonly weights: WeightSource;
  /** Path of the GGUF file, which is replaced if it exists. */
  readonly target: string;
  /** Data type of the matrices. @default "F32" */
  readonly type?: 'F32' | 'F16' | 'BF16';
}

const configFile = 'adapter_config.json';
const weightFile = 'adapter_model.safetensors';
/** PEFT's prefix for the tensor names of a causal language model. */
const prefix = 'base_model.model.';

/**
 * Writes the matrices and the scale of a LoRA adapter. If writing fails, no partial file remains.
 *
 * @throws CheckpointError that names file, key and value of a setting that a GGUF adapter cannot
 * hold: ranks that differ by layer, DoRA, biases, whole modules, embeddings
 * @see https://github.com/ggml-org/llama.cpp/blob/master/convert_lora_to_gguf.py
 */
export async function saveGgufAdapter(options: SaveGgufAdapterOptions): Promise<SavedGguf> {
  const { adapter, weights, target, type = 'F32' } = options;
  const config = readSavedConfig(options.config);
  assertUnderstood(adapter);
  const tensors = [...weights.tensors].flatMap(([name, { shape }]) =>
    matrices(config, name, shape, type, weights),
  );
  assertPairs(tensors);
  const bytes = await writeGguf(target, {
    keys: [
      ...generalKeys(options, config.family.architecture, 'adapter'),
      ['adapter.type', text('lora')],
      ['adapter.lora.alpha', f32(alphaOf(adapter))],
    ],
    tensors,
  });
  return { bytes, tensors: counts(tensors), notes: [] };
}

/** Values that are supported for keys that change how the matrices are used. */
const understood: Readonly<Record<string, readonly unknown[]>> = {
  peft_type: ['LORA'],
  bias: ['none', undefined],
  fan_in_fan_out: [false, undefined],
  use_dora: [false, undefined, null],
  use_qalora: [false, undefined, null],
  lora_bias: [false, undefined, null],
  init_lora_weights: plainInitialisations,
};

const refuse = (key: string, value: unknown, expected: string) =>
  refused({
    file: configFile,
    key,
    value,
    expected,
    fix: 'A GGUF adapter has no place for it: merge the adapter into its model, and write the model.',
  });

function assertUnderstood(adapter: Json): void {
  for (const [key, values] of Object.entries(understood))
    if (!values.includes(adapter[key])) throw refuse(key, adapter[key], JSON.stringify(values[0]));
  for (const key of variantKeys)
    if (!isUnset(adapter[key])) throw refuse(key, adapter[key], 'none');
}

/**
 * Returns the alpha to write. llama.cpp scales by alpha / rank, so the alpha of a rank-stabilised
 * adapter, which is scaled by alpha / sqrt(rank), is multiplied by sqrt(rank).
 */
function alphaOf(adapter: Json): number {
  const number = (key: string): number => {
    const value = adapter[key];
    if (typeof value === 'number' && value > 0) return value;
    throw refuse(key, value, 'a number above 0');
  };
  const rank = number('r');
  return number('lora_alpha') * (adapter['use_rslora'] === true ? Math.sqrt(rank) : 1);
}

/**
 * Returns the GGUF tensors for one LoRA matrix, A or B. If GGUF divides the adapted weight into
 * several tensors, each of them gets all of A, or its own rows of B.
 */
function matrices(
  config: SavedConfig,
  name: string,
  shape: readonly number[],
  type: TensorToWrite['type'],
  weights: WeightSource,
): readonly TensorToWrite[] {
  const [, module, letter] = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(name) ?? [];
  const parsed = module === undefined ? undefined : parseName(`${module}.weight`);
  const parts = parsed ? adaptedParts(config, parsed) : [];
  if (!parsed || parts.length === 0 || shape.length !== 2) throw noPlace(config, name, shape);
  const isB = letter === 'B';
  return parts.map((part, index): TensorToWrite => {
    const share = isB && parts.length > 1 ? { index, count: parts.length } : undefined;
    const own = share ? [shape[0]! / share.count, shape[1]!] : shape;
    // B has the rows of the adapted matrix, and A its columns.
    const found = orderOf(config.family.architecture, part, config);
    const order = found?.axis === (isB ? 0 : 1) ? found : undefined;
    return {
      name: `${ggufName(parsed, part)}.lora_${isB ? 'b' : 'a'}`,
      shape: own,
      type,
      async *read() {
        yield arranged({ shape: own, share, order }, await weights.read(name));
      },
    };
  });
}

/**
 * Returns the GGUF names of the tensors that an adapter changes. The list is empty for embeddings,
 * tied heads and norms, for which llama.cpp supports no adapters.
 */
function adaptedParts(config: SavedConfig, parsed: ParsedName): readonly string[] {
  const isAdapted = (part: string): boolean =>
    !part.endsWith('norm') && part !== 'token_embd' && !(config.tied && part === 'output');
  return partsOf(config, parsed).filter(isAdapted);
}

const noPlace = ({ json }: SavedConfig, name: string, shape: readonly number[]) =>
  refused({
    file: weightFile,
    key: name,
    value: `a tensor of shape [${shape.join(', ')}]`,
    expected: `matrices lora_A and lora_B of projections of a ${String(json['model_type'])} model under ${prefix}`,
    fix: 'A GGUF adapter has no place for it: merge the adapter into its model, and write the model.',
  });

function assertPairs(tensors: readonly TensorToWrite[]): void {
  const names = new Set(tensors.map(({ name }) => name));
  const other = (name: string): string =>
    name.endsWith('_a') ? name.replace(/_a$/, '_b') : name.replace(/_b$/, '_a');
  const single = tensors.find(({ name }) => !names.has(other(name)));
  if (single === undefined && tensors.length > 0) return;
  throw refused({
    file: weightFile,
    key: single ? other(single.name) : 'tensors',
    value: undefined,
    expected: 'a matrix lora_A and a matrix lora_B for each projection',
    fix: 'Copy the folder of the adapter again.',
  });
}
