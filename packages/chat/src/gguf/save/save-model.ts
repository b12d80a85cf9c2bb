/** Writes a Hugging Face model as one GGUF file, which llama.cpp, Ollama and LM Studio can open. */
import { writeGguf, type TensorToWrite } from '../file/write-file.js';
import type { EncodedType } from '../quantization/encoders.js';
import { tokenizerKeys } from '../tokenizer/save-tokenizer.js';
import type { TokenizerSource } from '../tokenizer/source.js';
import { readSavedConfig, type Json } from './config.js';
import { formatKeys, generalKeys, modelKeys, type ModelCard } from './keys.js';
import { savedRope } from './rope.js';
import { arranged, planTensors, type PlannedTensor, type Shapes } from './tensors.js';
import { assertTokens } from './tokens.js';
import { chooseType, type GgufFileType } from './types.js';

/**
 * Weights of a model or an adapter, which are read one tensor at a time. An implementation is
 * `openWeights` of engine-onnx.
 */
export interface WeightSource {
  /** Row-major shapes of the tensors by their Hugging Face names. */
  readonly tensors: Shapes;
  /** Reads the elements of a tensor in row-major order. */
  read(name: string): Promise<Float32Array>;
  /**
   * Reads a tensor in parts of whole rows. A part is used before the next part is read.
   * @default the whole tensor as one part
   */
  readParts?(name: string): AsyncIterable<Float32Array>;
}

export interface SaveGgufModelOptions extends ModelCard {
  /** Parsed `config.json`. */
  readonly config: Json;
  /**
   * Contents of the tokenizer files, as `readTokenizerFiles` of `@trinity-rft/chat` returns them.
   */
  readonly tokenizer: TokenizerSource;
  readonly weights: WeightSource;
  /** Path of the GGUF file, which is replaced if it exists. */
  readonly target: string;
  /** Data type of the matrices. @default "Q8_0" */
  readonly type?: GgufFileType;
}

export interface SavedGguf {
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** Number of tensors by data type. */
  readonly tensors: Readonly<Partial<Record<EncodedType, number>>>;
  /**
   * Sentences for the user about tensors that were not written in the requested data type, and
   * about text that llama.cpp may tokenize differently.
   */
  readonly notes: readonly string[];
}

/**
 * Writes a model to a GGUF file: settings, tokenizer, chat template and weights. Memory holds a part
 * of a tensor at a time, or a whole tensor if its rows are reordered or `weights` has no
 * `readParts`. If writing fails, no partial file remains.
 * @throws CheckpointError that names file, key and value of the first setting that llama.cpp does
 * not support or would compute differently, such as a sliding window, an activation, a rotary
 * scaling or a pre-tokenizer
 * @see https://github.com/ggml-org/llama.cpp/blob/master/convert_hf_to_gguf.py
 */
export async function saveGgufModel(options: SaveGgufModelOptions): Promise<SavedGguf> {
  const { weights, target, type = 'Q8_0' } = options;
  const config = readSavedConfig(options.config);
  const rope = savedRope(config);
  assertTokens(config, options);
  const { files, rows } = { files: options.tokenizer, rows: config.vocabularySize };
  const tokenizer = tokenizerKeys({ files, config: options.config, rows });
  const planned = planTensors(config, weights.tensors);
  const chosen = planned.map((tensor) => ({ tensor, ...chooseType(tensor, type, config) }));
  const tensors = [
    ...Object.entries(rope.divisors ?? {}).map(([name, data]) => vector(name, data)),
    ...chosen.map(({ tensor, type: format }) => toWrite(tensor, format, weights)),
  ];
  const numbers = planned.reduce((sum, { shape }) => sum + product(shape), 0);
  const bytes = await writeGguf(target, {
    keys: [
      ...generalKeys(options, config.family.architecture, 'model'),
      ...formatKeys(type, numbers),
      ...modelKeys(config, rope),
      ...tokenizer.keys,
    ],
    tensors,
  });
  return { bytes, tensors: counts(tensors), notes: [...fallbackNotes(chosen), ...tokenizer.notes] };
}

const product = (shape: readonly number[]): number => shape.reduce((all, n) => all * n, 1);

const vector = (name: string, data: Float32Array): TensorToWrite => ({
  name,
  shape: [data.length],
  type: 'F32',
  read: () => [data],
});

function toWrite(tensor: PlannedTensor, type: EncodedType, weights: WeightSource): TensorToWrite {
  return {
    name: tensor.name,
    shape: tensor.shape,
    type,
    async *read() {
      for (const source of tensor.sources)
        for await (const part of partsOf(tensor, source, weights)) {
          const { toFile } = tensor;
          yield toFile ? part.map((value) => toFile(value)) : part;
        }
    },
  };
}

/** Reads a source of a tensor in the order of the file. */
async function* partsOf(
  tensor: PlannedTensor,
  source: string,
  weights: WeightSource,
): AsyncIterable<Float32Array> {
  if (tensor.order || tensor.share || !weights.readParts)
    yield arranged(tensor, await weights.read(source));
  else yield* weights.readParts(source);
}

export function counts(tensors: readonly TensorToWrite[]): SavedGguf['tensors'] {
  const found: Partial<Record<EncodedType, number>> = {};
  for (const { type } of tensors) found[type] = (found[type] ?? 0) + 1;
  return found;
}

function fallbackNotes(
  chosen: readonly { readonly type: EncodedType; readonly instead?: EncodedType }[],
): readonly string[] {
  const changes = new Map<string, number>();
  for (const { type, instead } of chosen)
    if (instead !== undefined) {
      const change = `${type} instead of ${instead}`;
      changes.set(change, (changes.get(change) ?? 0) + 1);
    }
  return [...changes].map(
    ([change, count]) =>
      `${count} of ${chosen.length} tensors are written as ${change}, because their rows are not made of whole blocks.`,
  );
}
