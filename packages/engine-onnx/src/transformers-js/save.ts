/** Writes a model as a folder for transformers.js. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadModel } from '../lora/load-model.js';
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { writeWhole } from '../storage/files.js';
import { transformersGraph } from './graph.js';
import { storeWeights, type Place, type TransformersDtype } from './stored-weights.js';
import { withTemplate } from '../storage/template.js';

export interface SaveTransformersOptions {
  /** Model folder, checkpoint or GGUF file. */
  readonly from: string;
  /** Is created, or must be empty. */
  readonly to: string;
  /** One model file each. */
  readonly dtypes: readonly TransformersDtype[];
  /** Bytes of weights beyond which they lie in files beside the model, each of at most this size. @default 1.9e9 */
  readonly mostBytesInFile?: number;
}

/** Names of the files that transformers.js looks for. */
const suffixes: Readonly<Record<TransformersDtype, string>> = {
  fp32: '',
  fp16: '_fp16',
  q8: '_quantized',
};

/** A protobuf message holds at most 2 GB. */
const mostInFile = 1.9e9;

/**
 * All weights are in memory meanwhile, as float32, and once more in the number format that is written.
 * @throws CheckpointError when the model cannot be read
 */
export async function saveTransformersJs(options: SaveTransformersOptions): Promise<void> {
  const { from, to, dtypes, mostBytesInFile = mostInFile } = options;
  const { config, configText, companions, weights } = await loadModel(from);
  await mkdir(join(to, 'onnx'), { recursive: true });
  const external: Record<string, number> = {};
  for (const dtype of dtypes) {
    const file = `model${suffixes[dtype]}.onnx`;
    const place = placeOf(join(to, 'onnx'), file, bytesIn(dtype, config), mostBytesInFile);
    const bytes = transformersGraph(config, (graph) =>
      storeWeights(dtype, { graph, config, weights, place: place.put }),
    );
    const count = place.close();
    if (count > 0) external[file] = count;
    await writeWhole(join(to, 'onnx', file), bytes);
  }
  for (const [name, bytes] of withTemplate(companions)) await writeWhole(join(to, name), bytes);
  await writeWhole(
    join(to, 'config.json'),
    Buffer.from(`${JSON.stringify(configOf(configText, config, external), null, 2)}\n`),
  );
}

const bytesPerWeight: Readonly<Record<TransformersDtype, number>> = { fp32: 4, fp16: 2, q8: 1.125 };

const bytesIn = (dtype: TransformersDtype, config: ModelConfig): number =>
  parameterCount(config) * bytesPerWeight[dtype];

interface PlaceOfBytes {
  readonly put: Place;
  /** Number of files beside the model. */
  readonly close: () => number;
}

/** Files are named as transformers.js looks for them: `model.onnx_data`, `model.onnx_data_1` ... */
function placeOf(folder: string, file: string, total: number, most: number): PlaceOfBytes {
  if (total <= most) return { put: (bytes) => bytes, close: () => 0 };
  let [files, offset] = [0, 0];
  let handle: number | undefined;
  const nameOf = (index: number): string => `${file}_data${index === 0 ? '' : `_${index}`}`;
  const close = (): number => {
    if (handle !== undefined) closeSync(handle);
    handle = undefined;
    return files;
  };
  return {
    close,
    put: (bytes) => {
      if (handle === undefined || offset + bytes.length > most) {
        close();
        handle = openSync(join(folder, nameOf(files)), 'w');
        files++;
        offset = 0;
      }
      const at = { location: nameOf(files - 1), offset, length: bytes.length };
      for (let done = 0; done < bytes.length;)
        done += writeSync(handle, bytes, done, Math.min(bytes.length - done, 1 << 28));
      offset += bytes.length;
      return at;
    },
  };
}

/** The numbers from which transformers.js makes an empty cache, which some families leave out of theirs. */
function configOf(
  text: string,
  { headDim, kvHeads }: ModelConfig,
  external: Readonly<Record<string, number>>,
): object {
  return {
    ...(JSON.parse(text) as Readonly<Record<string, unknown>>),
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    ...(Object.keys(external).length > 0 && {
      'transformers.js_config': { use_external_data_format: external },
    }),
  };
}
