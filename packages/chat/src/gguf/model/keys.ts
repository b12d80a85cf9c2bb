/** Typed access to the metadata of a GGUF file, and the dimensions that all architectures have. */
import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import type { GgufValue } from '../file/header.js';
import type { DeltaSizes, LayoutSizes } from './layout.js';

export interface Keys {
  /** Adds the prefix of the architecture, such as `llama.`, to a name. */
  readonly own: (name: string) => string;
  number(key: string): number | undefined;
  /**
   * Returns the number that is stored under `key`.
   * @throws CheckpointError when the key is missing
   */
  need(key: string): number;
  text(key: string): string | undefined;
  flag(key: string): boolean | undefined;
  texts(key: string): readonly string[] | undefined;
  numbers(key: string): readonly number[] | undefined;
  flags(key: string): readonly boolean[] | undefined;
  /** Returns true if the value of `key` is a list, such as one with a value for each layer. */
  isList(key: string): boolean;
}

/** Metadata of a GGUF file, and the dimensions that models of all architectures have. */
export interface Described extends LayoutSizes {
  /** Path of the file, for error messages. */
  readonly path: string;
  readonly keys: Keys;
  /** Number of layers, not counting layers for multi-token prediction. */
  readonly layers: number;
  /**
   * Number of key-value heads of each layer, 0 in a layer without attention; undefined if the file
   * has one number for all layers.
   */
  readonly kvHeadsByLayer: readonly number[] | undefined;
  /** Rotary dimension: number of dimensions of each head to which rotary embeddings apply. */
  readonly rotated: number;
  readonly hiddenSize: number;
  /** Number of embedding rows, which may exceed the number of tokens. */
  readonly vocabularySize: number;
}

/**
 * Reads the dimensions of the model in a file.
 * @throws CheckpointError that names the key that is missing or of another type
 */
export function describe(file: GgufFile): Described {
  const keys = keysOf(file);
  const need = (name: string): number => keys.need(keys.own(name));
  const number = (name: string): number | undefined => keys.number(keys.own(name));
  const [heads, hiddenSize] = [need('attention.head_count'), need('embedding_length')];
  const headDim = number('attention.key_length') ?? hiddenSize / heads;
  const kvName = keys.own('attention.head_count_kv');
  const byLayer = keys.isList(kvName)
    ? ofLayers(file.path, keys, kvName, keys.numbers(kvName))
    : undefined;
  return {
    path: file.path,
    keys,
    vocabularySize: vocabularySize(file),
    layers: need('block_count') - (number('nextn_predict_layers') ?? 0),
    heads,
    kvHeads: byLayer ? Math.max(...byLayer) : (keys.number(kvName) ?? heads),
    kvHeadsByLayer: byLayer,
    headDim,
    rotated: number('rope.dimension_count') ?? headDim,
    hiddenSize,
    delta: deltaSizes(keys),
  };
}

/**
 * Returns `list`, the values of the key `name`, after checking that there is one for each layer.
 * @throws CheckpointError when the number of values is different
 */
function ofLayers<T>(
  path: string,
  keys: Keys,
  name: string,
  list: readonly T[] = [],
): readonly T[] {
  const layers = keys.need(keys.own('block_count'));
  if (list.length === layers) return list;
  throw unsupported(
    path,
    name,
    `${name} has ${list.length} values; expected one for each of the ${layers} layers. Use the Hugging Face folder of this model.`,
  );
}

/** Returns the width of the feed-forward block of each layer. */
export function feedForwardLengths({ path, keys, layers }: Described): readonly number[] {
  const name = keys.own('feed_forward_length');
  if (keys.isList(name)) return ofLayers(path, keys, name, keys.numbers(name));
  return Array.from<number>({ length: layers }).fill(keys.need(name));
}

/**
 * Returns the attention type of each layer, as in `layer_types` of config.json. A file either has a
 * flag for each layer that is true for a sliding window, or a number n: every n-th layer then has
 * full attention.
 * @param period n if the file has neither flags nor n; without it, such a file is an error
 */
export function layerTypes({ path, keys, layers }: Described, period?: number): readonly string[] {
  const name = keys.own('attention.sliding_window_pattern');
  const listed = keys.isList(name) ? ofLayers(path, keys, name, keys.flags(name)) : undefined;
  const every = listed ? undefined : (keys.number(name) ?? period ?? keys.need(name));
  const hasWindow = keys.number(keys.own('attention.sliding_window')) !== undefined;
  const slides = (layer: number): boolean =>
    every === undefined ? listed?.[layer] === true : (layer + 1) % every !== 0;
  return Array.from({ length: layers }, (_, layer) =>
    hasWindow && slides(layer) ? 'sliding_attention' : 'full_attention',
  );
}

function vocabularySize(file: GgufFile): number {
  const rows = file.tensors.get('token_embd.weight')?.shape[0];
  if (rows === undefined)
    throw unsupported(
      file.path,
      'token_embd.weight',
      'it holds no tensor token_embd.weight. Give the file of a whole model, not of a vocabulary or an adapter.',
    );
  return rows;
}

function deltaSizes(keys: Keys): DeltaSizes | undefined {
  if (keys.number(keys.own('ssm.state_size')) === undefined) return undefined;
  const need = (name: string): number => keys.need(keys.own(`ssm.${name}`));
  const valueHeads = need('time_step_rank');
  return {
    keyHeads: need('group_count'),
    keyDim: need('state_size'),
    valueHeads,
    valueDim: need('inner_size') / valueHeads,
  };
}

export function keysOf({ path, metadata }: GgufFile): Keys {
  const architecture = String(metadata.get('general.architecture') ?? '');
  const read = <T extends GgufValue>(
    key: string,
    what: string,
    is: (value: GgufValue) => value is T,
  ): T | undefined => {
    const value = metadata.get(key);
    if (value === undefined || is(value)) return value;
    throw unsupported(
      path,
      key,
      `${key} is not ${what}. Use the Hugging Face folder of this model.`,
    );
  };
  const number = (key: string) => read(key, 'a number', isNumber);
  return {
    own: (name) => `${architecture}.${name}`,
    number,
    need: (key) => {
      const value = number(key);
      if (value === undefined) throw unsupported(path, key, `the key ${key} is missing.`);
      return value;
    },
    text: (key) => read(key, 'a text', isText),
    flag: (key) => read(key, 'true or false', isFlag),
    texts: (key) => read(key, 'a list of texts', isTexts),
    numbers: (key) => read(key, 'a list of numbers', isNumbers),
    flags: (key) => read(key, 'a list of true and false', isFlags),
    isList: (key) => Array.isArray(metadata.get(key)),
  };
}

const isNumber = (value: GgufValue): value is number => typeof value === 'number';
const isText = (value: GgufValue): value is string => typeof value === 'string';
const isFlag = (value: GgufValue): value is boolean => typeof value === 'boolean';
const isTexts = (value: GgufValue): value is readonly string[] =>
  Array.isArray(value) && (value as readonly GgufValue[]).every(isText);
const isNumbers = (value: GgufValue): value is readonly number[] =>
  Array.isArray(value) && (value as readonly GgufValue[]).every(isNumber);
const isFlags = (value: GgufValue): value is readonly boolean[] =>
  Array.isArray(value) && (value as readonly GgufValue[]).every(isFlag);
