/** Writes a model as a folder for transformers.js. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { commonKeys, fillFolder } from '@trinity-rft/core/support';
import { loadModel } from '../lora/load-model.js';
import type { ModelConfig } from '../model/config.js';
import { families } from '../model/families.js';
import { parameterCount } from '../model/parameters.js';
import { writeWhole } from '../storage/files.js';
import type { ModelFolder } from '../storage/model-folder.js';
import { withTemplate } from '../storage/template.js';
import { weightPlace } from '../onnx/external-files.js';
import { transformersGraph } from './graph.js';
import { storeWeights, type TransformersDtype } from './stored-weights.js';

export interface SaveTransformersOptions {
  /**
   * Model folder, checkpoint or GGUF file. Adapters of a checkpoint are merged into its weights.
   */
  readonly from: string;
  /**
   * Folder to create. If it exists, it must be empty. The folder appears only once it is complete.
   */
  readonly to: string;
  /** Data types of the weights, at least one. Each data type gets a separate model file. */
  readonly dtypes: readonly TransformersDtype[];
  /**
   * Maximum size in bytes of the weights in the model file. If the weights are larger, they are
   * stored in files next to it. Each of these files has at most this size unless it contains a
   * single larger tensor.
   * @default 1.9e9
   */
  readonly mostBytesInFile?: number;
  /** Signal that aborts the export between two tensors. Partial output is then removed. */
  readonly signal?: AbortSignal;
}

/**
 * For each data type, the file that transformers.js loads and the maximum number of bytes per
 * weight.
 */
const formats: Readonly<
  Record<TransformersDtype, { readonly file: string; readonly bytes: number }>
> = {
  fp32: { file: 'model.onnx', bytes: 4 },
  fp16: { file: 'model_fp16.onnx', bytes: 2 },
  q8: { file: 'model_quantized.onnx', bytes: 1.125 },
};

/**
 * Maximum size in bytes of the weights in a file, because a protobuf message holds at most 2 GB.
 */
const mostInFile = 1.9e9;

/**
 * Writes a folder for transformers.js. During the export, all weights are in memory as float32.
 * They are in memory a second time in the target data type, unless this is float32 or the weights
 * are stored in files next to the model.
 * @throws ConfigError for an unknown data type or if `to` contains files, CheckpointError when the
 * model cannot be read, or a weight is too large for `fp16`; the reason of `signal`
 */
export async function saveTransformersJs(options: SaveTransformersOptions): Promise<void> {
  const { from, to, dtypes, mostBytesInFile = mostInFile, signal } = options;
  assertFormats(dtypes);
  await fillFolder(to, async (folder) => {
    const model = await loadModel(from);
    assertWritable(from, model.config);
    await mkdir(join(folder, 'onnx'));
    const external: Record<string, number> = {};
    for (const dtype of dtypes) {
      const count = await writeModel(join(folder, 'onnx'), {
        dtype,
        model,
        mostBytesInFile,
        signal,
      });
      if (count > 0) external[formats[dtype].file] = count;
    }
    const companions = withTemplate(model.companions);
    for (const [name, bytes] of companions) await writeWhole(join(folder, name), bytes);
    const made = Object.entries(madeFiles(model.config)).filter(([name]) => !companions.has(name));
    for (const [name, value] of made) await writeJson(join(folder, name), value);
    await writeJson(join(folder, 'config.json'), configOf(model, dtypes, external));
  });
}

const writeJson = (path: string, value: object): Promise<void> =>
  writeWhole(path, Buffer.from(`${JSON.stringify(value, null, 2)}\n`));

function assertFormats(dtypes: readonly string[]): void {
  const unknown = dtypes.find((dtype) => !Object.hasOwn(formats, dtype));
  if (unknown === undefined && dtypes.length > 0) return;
  throw new ConfigError(
    `dtypes is ${JSON.stringify(dtypes)}; expected at least one of ${Object.keys(formats).join(', ')}.`,
    { code: 'ARGUMENT_INVALID' },
  );
}

function assertWritable(from: string, { family, delta, layerScalar }: ModelConfig): void {
  const trait = delta
    ? 'gated delta rule is'
    : layerScalar
      ? 'layers with two widths of heads are'
      : '';
  if (!trait) return;
  throw new ConfigError(
    `${from} is a model of ${family}, whose ${trait} not written for transformers.js. Serve ` +
      'the folder, or use a model of another family.',
    { code: 'EXPORT_UNSUPPORTED' },
  );
}

interface WriteModelOptions extends Pick<SaveTransformersOptions, 'signal'> {
  readonly dtype: TransformersDtype;
  readonly model: ModelFolder;
  readonly mostBytesInFile: number;
}

/** Writes a model file. Returns the number of weight files next to the model file. */
async function writeModel(
  folder: string,
  { dtype, model: { config, weights }, mostBytesInFile, signal }: WriteModelOptions,
): Promise<number> {
  const { file, bytes } = formats[dtype];
  const isLarge = parameterCount(config) * bytes > mostBytesInFile;
  const place = weightPlace({ folder, file, most: isLarge ? mostBytesInFile : undefined, signal });
  try {
    const parts = await transformersGraph(config, (graph) =>
      storeWeights(dtype, { graph, config, weights, place: place.put }),
    );
    await writeWhole(join(folder, file), parts);
  } finally {
    await place.close();
  }
  return place.count();
}

/**
 * Returns files that transformers.js loads and that some models lack: the tokenizer's settings, and
 * the special tokens for generation.
 */
const madeFiles = ({
  bosTokenId,
  eosTokenIds,
  padTokenId,
}: ModelConfig): Record<string, object> => ({
  'tokenizer_config.json': {},
  'generation_config.json': {
    bos_token_id: bosTokenId,
    eos_token_id: eosTokenIds.length > 1 ? eosTokenIds : eosTokenIds[0],
    pad_token_id: padTokenId,
  },
});

/**
 * Returns the config.json. Adds the sizes from which transformers.js creates an empty cache,
 * because the configs of some families lack them. Replaces existing settings for transformers.js,
 * because they describe other files.
 */
function configOf(
  { config, configText }: Pick<ModelFolder, 'config' | 'configText'>,
  dtypes: readonly TransformersDtype[],
  external: Readonly<Record<string, number>>,
): object {
  const { headDim, kvHeads, family, layers } = config;
  const { 'transformers.js_config': _others, ...fields } = JSON.parse(configText) as Readonly<
    Record<string, unknown>
  >;
  // By default, Node.js loads fp32 and WebAssembly loads q8.
  const hasDefaults = dtypes.includes('fp32') && dtypes.includes('q8');
  const settings = {
    ...(!hasDefaults && { dtype: dtypes[0] }),
    ...(Object.keys(external).length > 0 && { use_external_data_format: external }),
  };
  return {
    architectures: [`${families[family].className}ForCausalLM`],
    ...fields,
    // Only `layer_types` says which layers of LFM2 are convolutions and which layers of a hybrid
    // model cache keys.
    layer_types: families[family].hybrid
      ? Array<string>(layers).fill('attention')
      : (commonKeys(fields) as { readonly layer_types?: unknown }).layer_types,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    ...(Object.keys(settings).length > 0 && { 'transformers.js_config': settings }),
  };
}
