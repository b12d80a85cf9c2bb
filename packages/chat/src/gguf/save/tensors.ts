/** Plans the tensors of a GGUF file, and from which tensors of the model each is computed. */
import { refused } from '../file/failure.js';
import { orderOf, toFileOrder, valuesOf, type Order } from '../model/layout.js';
import {
  expertPart,
  expertParts,
  ggufName,
  hasItsKind,
  hfName,
  layerParts,
  parseName,
  wholeParts,
  type ParsedName,
} from '../model/names.js';
import { expertCount, isRecurrent, type SavedConfig } from './config.js';

/** A tensor of the GGUF file, before its data type is chosen. */
export interface PlannedTensor {
  readonly name: string;
  /** Row-major shape. */
  readonly shape: readonly number[];
  /** Hugging Face names of the source tensors: one, or one per expert of a layer. */
  readonly sources: readonly string[];
  readonly layer?: number;
  /** Order of the rows or columns in the file. @default that of Hugging Face's tensor */
  readonly order?: Order | undefined;
  /** Converts an element of Hugging Face's tensor. @default undefined: elements are not changed */
  readonly toFile?: ((value: number) => number) | undefined;
  /**
   * Share of the rows of the source tensor, if these are divided among several GGUF tensors.
   * @default all rows
   */
  readonly share?: Share | undefined;
}

interface Share {
  readonly index: number;
  readonly count: number;
}

export type Shapes = ReadonlyMap<string, { readonly shape: readonly number[] }>;

/** Name of the weights in error messages. */
const weightsFile = 'the weights';

/**
 * Plans the tensors of the file from the shapes of the weights.
 * @throws CheckpointError that names a tensor that llama.cpp does not support, that is missing, or
 * whose shape does not match config.json
 */
export function planTensors(config: SavedConfig, shapes: Shapes): readonly PlannedTensor[] {
  const stacks = expertStacks(config).map((stack) => stacked(config, stack, shapes));
  const inStacks = new Set(stacks.flatMap(({ sources }) => sources));
  const single = [...shapes]
    .filter(([name]) => !isSurplus(config, name) && !inStacks.has(name))
    .flatMap(([name, { shape }]) => planMatrix(config, name, shape));
  const planned = [...single, ...stacks, ...headCopy(config, single)];
  assertComplete(config, planned);
  return planned;
}

/** Returns true for a tensor that a checkpoint may contain although the model does not use it. */
const isSurplus = (config: SavedConfig, name: string): boolean =>
  (config.tied && name === 'lm_head.weight') ||
  name.endsWith('.rotary_emb.inv_freq') ||
  isUnread(config, parseName(name));

/**
 * Returns true for a part that computes keys or values in a layer that reuses the keys and values
 * of an earlier layer.
 */
const isUnread = (
  { ownKeyLayers }: SavedConfig,
  { layer = 0, part }: Pick<ParsedName, 'layer' | 'part'>,
): boolean => layer >= ownKeyLayers && /^self_attn\.(k_proj|v_proj|k_norm)$/.test(part);

function planMatrix(
  config: SavedConfig,
  name: string,
  shape: readonly number[],
): readonly PlannedTensor[] {
  const parsed = parseName(name);
  const parts = partsOf(config, parsed);
  if (parts.length === 0) throw noPlace(config, name, shape);
  const { length: count } = parts;
  if (count === 1) return [planOne(config, parsed, parts[0]!, { name, shape })];
  const [rows = 0, ...rest] = shape;
  return parts.map((part, index) => ({
    ...planOne(config, parsed, part, { name, shape: [rows / count, ...rest] }),
    share: { index, count },
  }));
}

function planOne(
  config: SavedConfig,
  parsed: ParsedName,
  part: string,
  { name, shape }: { readonly name: string; readonly shape: readonly number[] },
): PlannedTensor {
  const { architecture } = config.family;
  return {
    name: ggufName(parsed, part),
    // Drops the dimension of size 1 of a convolution. It is for the single input of a channel.
    shape: shape.length === 3 ? shape.filter((_, axis) => axis !== 1) : shape,
    sources: [name],
    ...(parsed.layer !== undefined && { layer: parsed.layer }),
    order: orderOf(architecture, part, config),
    toFile: valuesOf(architecture, part)?.toFile,
  };
}

/**
 * Returns the elements of a GGUF tensor: its share of the source tensor, in the order of the GGUF
 * file.
 */
export function arranged(
  { order, share, shape }: Pick<PlannedTensor, 'order' | 'share' | 'shape'>,
  source: Float32Array,
): Float32Array {
  const size = source.length / (share?.count ?? 1);
  const own = share ? source.subarray(share.index * size, (share.index + 1) * size) : source;
  return order ? toFileOrder(own, shape[0] ?? 1, order) : own;
}

/**
 * Returns the GGUF names for a Hugging Face tensor, without the layer, and without `weight` or
 * `bias`. The list is empty for an unknown tensor. It has several names for a matrix whose rows are
 * divided among several GGUF tensors.
 */
export function partsOf(config: SavedConfig, name: ParsedName): readonly string[] {
  const { family, layers } = config;
  const { architecture, parts = layerParts[architecture], divided = {} } = family;
  if (!hasItsKind(name) || isUnread(config, name)) return [];
  if (name.layer === undefined) return own(wholeParts(family.architecture), name.part);
  if (name.layer >= layers) return [];
  const one = own(parts, name.part);
  return one.length > 0 ? one : (own(divided, name.part)[0] ?? []);
}

const own = <T>(names: Readonly<Record<string, T>>, key: string): readonly T[] =>
  Object.hasOwn(names, key) ? [names[key]!] : [];

const noPlace = ({ json }: SavedConfig, name: string, shape: readonly number[]) =>
  refused({
    file: weightsFile,
    key: name,
    value: `a tensor of shape [${shape.join(', ')}]`,
    expected: `only tensors of a ${String(json['model_type'])} model of this config.json`,
    fix: 'Use config.json and weights of one model; llama.cpp has no other tensors.',
  });

type Stack = Omit<PlannedTensor, 'shape'>;

/** Returns the tensors that stack a matrix of all experts of a layer. */
function expertStacks({ family, json, layers }: SavedConfig): readonly Stack[] {
  if (family.architecture !== 'qwen3moe') return [];
  const count = expertCount(json);
  const stack = (layer: number, part: string, matrix: string): Stack => ({
    name: `blk.${layer}.${part}.weight`,
    layer,
    sources: Array.from({ length: count }, (_, expert) =>
      hfName({ layer, part, kind: 'weight' }, expertPart(expert, matrix)),
    ),
  });
  return Array.from({ length: layers }, (_, layer) =>
    Object.entries(expertParts).map(([part, matrix]) => stack(layer, part, matrix)),
  ).flat();
}

/**
 * Plans a tensor that stacks a matrix of all experts of a layer.
 * @throws CheckpointError when an expert is missing, or its shape differs from the others
 */
function stacked(config: SavedConfig, stack: Stack, shapes: Shapes): PlannedTensor {
  const found = stack.sources.map((name) => ({ name, shape: shapes.get(name)?.shape }));
  const missing = found.find(({ shape }) => shape === undefined);
  if (missing) throw absent(missing.name);
  const shape = found[0]?.shape ?? [];
  const other = found.find((expert) => expert.shape?.join() !== shape.join());
  if (other) throw noPlace(config, other.name, other.shape ?? []);
  return { ...stack, shape: [stack.sources.length, ...shape] };
}

const absent = (name: string) =>
  refused({
    file: weightsFile,
    key: name,
    value: undefined,
    expected: 'all tensors of the model of config.json',
    fix: 'Copy the folder of the model again, or merge the adapter first (`trinity convert`).',
  });

/**
 * Returns a copy of the embeddings as output head if the head is tied but llama.cpp requires a
 * separate tensor; otherwise an empty list.
 */
function headCopy(
  config: SavedConfig,
  planned: readonly PlannedTensor[],
): readonly PlannedTensor[] {
  const embeddings = planned.find(({ name }) => name === 'token_embd.weight');
  return config.tied && config.family.ownHead && embeddings
    ? [{ ...embeddings, name: 'output.weight' }]
    : [];
}

function assertComplete(config: SavedConfig, planned: readonly PlannedTensor[]): void {
  const names = new Map(planned.map((tensor) => [tensor.name, tensor]));
  const missing = expectedNames(config).find((name) => !names.has(name));
  if (missing !== undefined) throw absent(missing);
  const rows = names.get('token_embd.weight')?.shape[0];
  if (rows !== config.vocabularySize)
    throw refused({
      file: weightsFile,
      key: 'model.embed_tokens.weight',
      value: `a tensor of ${rows} rows`,
      expected: `vocab_size of config.json (${config.vocabularySize})`,
      fix: 'Use config.json and weights of one model.',
    });
}

/** Matches GGUF names of parts that occur only in layers with attention. */
const attentionParts = /^attn_(q|k|v|output)(_|$)/;
/** Returns a pattern for GGUF names of parts that occur only in layers without attention. */
const recurrentParts = ({ delta }: SavedConfig): RegExp =>
  delta ? /^(ssm_|attn_(qkv|gate)$)/ : /^shortconv\./;
/** Matches GGUF names of parts for Gemma 4's per-layer embeddings, which not all models have. */
const inputParts = /^(per_layer_.+|inp_gate|proj|post_norm)$/;

/** Returns the GGUF names of the tensors that the file must contain. */
function expectedNames(config: SavedConfig): readonly string[] {
  const { family, layers, tied } = config;
  const parts = Object.entries<string>(layerParts[family.architecture]);
  const experts = family.architecture === 'qwen3moe' ? Object.keys(expertParts) : [];
  const whole = Object.values(wholeParts(family.architecture));
  const hasInputs = Boolean(config.json['hidden_size_per_layer_input']);
  const isIn = (part: string): boolean => hasInputs || !inputParts.test(part);
  return [
    ...whole
      .filter((part) => isIn(part) && !(tied && part === 'output'))
      .map((part) => `${part}.weight`),
    ...Array.from({ length: layers }, (_, layer) => {
      const absent = isRecurrent(config, layer) ? attentionParts : recurrentParts(config);
      const read = parts.filter(([part]) => !isUnread(config, { layer, part }));
      const all = [...read.map(([, name]) => name), ...experts];
      const own = all.filter((part) => isIn(part) && !absent.test(part));
      return own.map((part) => ggufName({ layer, part, kind: 'weight' }, part));
    }).flat(),
  ];
}
