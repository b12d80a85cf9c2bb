/**
 * Presents a GGUF file as the Hugging Face folder of the same model: with the contents of the files
 * in such a folder, and the tensors under Hugging Face's names. No files are written; tensors are
 * decoded when they are read.
 */
import { openSync, readSync, closeSync, statSync } from 'node:fs';

import { refuseLfsPointer } from '@trinity-rft/core/support';

import { unsupported } from './file/failure.js';
import { openGguf, type GgufFile } from './file/gguf-file.js';
import { hfConfig } from './model/config.js';
import { keysOf } from './model/keys.js';
import { hasEncoders, hfWeights, type WeightTensor } from './model/weights.js';
import {
  chatTemplate,
  generationConfig,
  tokenizerConfig,
  tokenizerJson,
} from './tokenizer/tokenizer-files.js';

export interface GgufModel {
  /** Names that {@link GgufModel.text} accepts. */
  readonly files: readonly string[];
  /**
   * Returns the content of `config.json`, `tokenizer.json` or another file of the Hugging Face
   * folder; undefined if the folder would have no such file.
   * @throws CheckpointError when the content of the file is not supported
   */
  text(name: string): string | undefined;
  /** Tensors by Hugging Face's names. */
  readonly tensors: ReadonlyMap<string, WeightTensor>;
  /** True if the file also holds image or audio encoders, whose tensors are not in `tensors`. */
  readonly isTextPart: boolean;
  close(): void;
}

const writers: Readonly<Record<string, (file: GgufFile) => unknown>> = {
  'config.json': hfConfig,
  'tokenizer.json': tokenizerJson,
  'tokenizer_config.json': tokenizerConfig,
  'generation_config.json': generationConfig,
  'chat_template.jinja': chatTemplate,
};

/**
 * Opens a GGUF file as a Hugging Face folder.
 * @throws CheckpointError when the file is not GGUF, or its model is not supported
 */
export function openGgufModel(path: string): GgufModel {
  const file = openGguf(path);
  try {
    refusePart(file);
  } catch (error) {
    file.close();
    throw error;
  }
  return {
    files: Object.keys(writers),
    text: (name) => {
      const content = Object.hasOwn(writers, name) ? writers[name]?.(file) : undefined;
      return typeof content === 'object' ? jsonText(content) : (content as string | undefined);
    },
    get tensors() {
      return hfWeights(file);
    },
    isTextPart: hasEncoders(file),
    close: () => file.close(),
  };
}

/**
 * Returns JSON in which soft caps have a decimal point (30.0), because transformers rejects
 * integers there.
 */
const jsonText = (content: unknown): string =>
  `${JSON.stringify(content, null, 2)}\n`.replaceAll(/("\w+_softcapping": \d+)(?=,?\n)/g, '$1.0');

/**
 * Refuses a file that is one of several parts of a model. Only the first part has the keys of the
 * model.
 */
function refusePart(file: GgufFile): void {
  const parts = keysOf(file).number('split.count') ?? 1;
  if (parts > 1)
    throw unsupported(
      file.path,
      'split.count',
      `it is one of ${parts} files of a model. Join them with \`llama-gguf-split --merge\`, and give the result.`,
    );
}

/**
 * Returns the `config.json` of a GGUF file.
 * @throws CheckpointError as {@link openGgufModel}, and when the file holds no tokenizer, or a
 * tokenizer that is not supported
 */
export function readGgufConfig(path: string): string {
  const model = openGgufModel(path);
  try {
    if (model.text('tokenizer.json') === undefined)
      throw unsupported(
        path,
        'tokenizer.ggml.model',
        'it holds no tokenizer. Give the file of a whole model.',
      );
    return model.text('config.json') ?? '{}';
  } finally {
    model.close();
  }
}

/**
 * Returns true if the file at `path` begins with the GGUF magic number, whatever its name.
 * @throws CheckpointError when it is a git-lfs pointer
 */
export function isGguf(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(32);
    const start = bytes.toString('latin1', 0, readSync(file, bytes));
    refuseLfsPointer(path, start);
    return start.startsWith('GGUF');
  } finally {
    closeSync(file);
  }
}

/**
 * Returns true if `path` is a GGUF file with at least one quantised tensor.
 * @throws CheckpointError when the file is damaged or not supported
 */
export function isQuantizedGguf(path: string): boolean {
  if (!isGguf(path)) return false;
  const file = openGguf(path);
  try {
    return [...file.tensors.values()].some(({ isQuantized }) => isQuantized);
  } finally {
    file.close();
  }
}
