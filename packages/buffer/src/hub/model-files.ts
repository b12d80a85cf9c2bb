/** Selects the files that a model consists of from the files of its repository. Does no I/O. */
import { ConfigError } from '@trinity-rft/core';
import type { ModelId } from '@trinity-rft/core/support';

const description =
  /^(?:config|generation_config|special_tokens_map|added_tokens)\.json$|^tokenizer[^/]*$|^chat_template[^/]*$/;
const weights = /^model(?:-\d+-of-\d+)?\.safetensors$/;
/**
 * Returns true for GGUF files that contain a language model. Encoders of images or audio (`mmproj`)
 * may be in the same folder, and are excluded.
 */
const isGgufModel = (path: string): boolean =>
  /\.gguf$/i.test(path) && !/(?:^|\/)mmproj[^/]*$/i.test(path);
const weightsIndex = 'model.safetensors.index.json';

/**
 * Returns the files to fetch. Weights come last, so that if all weights are present, all other
 * files are too.
 * @throws ConfigError that names the files that the repository lacks
 */
export function chooseModelFiles(
  paths: readonly string[],
  id: string,
  { file }: Pick<ModelId, 'file'>,
): readonly string[] {
  if (file !== undefined) {
    if (paths.includes(file)) return [file];
    throw unusable(id, `it has no file ${file}`);
  }
  const chosen = paths.filter((path) => weights.test(path));
  if (chosen.length > 0) {
    const missing = ['config.json', 'tokenizer.json'].filter((name) => !paths.includes(name));
    if (missing.length > 0) throw unusable(id, `it has no ${missing.join(' and no ')}`);
    const index = paths.filter((path) => path === weightsIndex);
    return [...paths.filter((path) => description.test(path)), ...index, ...chosen];
  }
  const gguf = paths.filter(isGgufModel);
  if (gguf.length === 1) return gguf;
  if (gguf.length === 0)
    throw unusable(id, 'it holds neither model*.safetensors nor the GGUF file of a model');
  throw new ConfigError(
    `${id} holds ${gguf.length} GGUF models: ${gguf.join(', ')}. Name one, as in ${id}/${gguf[0]}.`,
    { code: 'HUB_MODEL_FILES' },
  );
}

const unusable = (id: string, reason: string): ConfigError =>
  new ConfigError(
    `${id} cannot be used: ${reason}. Choose a repository with config.json, tokenizer.json and safetensors, or with a GGUF file.`,
    { code: 'HUB_MODEL_FILES' },
  );

/**
 * Returns the path to open as the model, relative to the folder: an empty string for the folder
 * itself, or the path of a GGUF file. Returns undefined if files of the model are missing.
 */
export function completeModel(
  paths: readonly string[],
  readIndex: (name: string) => string,
): string | undefined {
  const has = (name: string): boolean => paths.includes(name);
  if (has('config.json') && has('tokenizer.json')) {
    if (has('model.safetensors')) return '';
    if (has(weightsIndex) && shardsOf(readIndex(weightsIndex)).every(has)) return '';
  }
  const gguf = paths.filter(isGgufModel);
  return gguf.length === 1 ? gguf[0] : undefined;
}

function shardsOf(index: string): readonly string[] {
  const { weight_map: map } = JSON.parse(index) as { weight_map: Readonly<Record<string, string>> };
  return [...new Set(Object.values(map))];
}
