/**
 * Computes the memory that the embedded engine needs for a model, from the model's shape and the
 * machine's memory.
 */
import { machineMemory } from '@trinity-rft/core/support';
import type { Disk } from '../resolve/base/disk.js';
import {
  attentionLayers,
  keyValueLayers,
  linearModulesOf,
  readModelFolder,
  type ModelShape,
} from '../resolve/model/model-folder.js';
import type { LoraConfig, StageConfig } from '../resolve/base/resolved.js';
import { rowsPerBatch } from './steps.js';
import { runsRemotely } from './tinker-server.js';

/**
 * Memory plan for the embedded engine, at the peak of a run. Sizes are in MiB, except `parameters`.
 */
export interface MemoryPlan {
  /** Number of parameters of the model. */
  readonly parameters: number;
  readonly weights: number;
  /**
   * Additional copies of the weights: those published for sampling and the frozen reference, or the
   * quantised weights as the runtime packs them.
   */
  readonly copies: number;
  readonly gradients: number;
  /** First and second moments of AdamW. */
  readonly moments: number;
  /**
   * Activations of a micro-batch of rows of maximum length, limited by the memory budget, and the
   * gradients that the training graph returns.
   */
  readonly activations: number;
  /** Weights, gradients and moments of the critic, if the algorithm has a critic. */
  readonly critic: number;
  /** Key/value cache for all rollouts in flight at maximum length, limited by the memory budget. */
  readonly keyValueCache: number;
  /** Weights and key/value caches of the auxiliary models that this process loads from folders. */
  readonly auxiliary: number;
  readonly total: number;
}

const float = 4;
const mebibyte = 2 ** 20;
/**
 * Default budget for activations, in MiB. The key/value cache has a separate budget of the same
 * size.
 */
const engineBudget = 384;
/**
 * Maximum fraction of the machine's memory for training the whole model as one graph, if no budget
 * is set.
 */
const machineShare = 1 / 8;
/** Maximum memory for logits, in MiB. */
const logitsBudget = 256;

export function planMemory(stage: StageConfig, disk: Disk): MemoryPlan | undefined {
  const { model } = stage;
  if (!model.isLocal) return undefined;
  const folder = readModelFolder(disk, model.modelPath);
  if (folder.kind === 'problem') return undefined;
  const { shape } = folder;
  const parameters = countParameters(shape);
  const sizes: Sizes = {
    shape,
    budget: model.memoryBudgetMb ?? engineBudget,
    base: (parameters * float) / mebibyte,
    adapter: model.lora && (adapterParameters(model.lora, shape) * float) / mebibyte,
    quantized: quantizedSizes(stage, disk, shape),
  };
  const parts = runsRemotely(stage)
    ? besideServers(stage, disk, sizes)
    : partsHere(stage, disk, sizes);
  const total = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { parameters, ...parts, total };
}

/**
 * Size of a quantised weight in bytes. Weights are stored in blocks of 32, each with a 32-bit
 * scale.
 */
const bytesPerWeight = { int8: 1 + float / 32, int4: (1 + float / 16) / 2 } as const;

/** Sizes of quantised weights, in MiB. */
interface QuantizedSizes {
  /** The weights as they are stored in memory. */
  readonly stored: number;
  /**
   * The weights as the runtime packs them, with one more float per block. Leaves out tables of
   * which only rows are looked up.
   */
  readonly packed: number;
}

function quantizedSizes(
  { model }: StageConfig,
  disk: Disk,
  shape: ModelShape,
): QuantizedSizes | undefined {
  const { quantization: kind, continued } = model.base;
  if (kind === undefined) return undefined;
  if (kind === 'file') return sizesOfFile(disk, continued?.modelPath ?? model.modelPath);
  const all = countParameters(shape);
  const perBlock = bytesPerWeight[kind] + float / 32;
  return {
    stored: (all * bytesPerWeight[kind]) / mebibyte,
    packed: ((all - lookupParameters(shape)) * perBlock) / mebibyte,
  };
}

/** Matches tensors of image and audio encoders, which are not loaded. */
const encoderTensor = /^(v|a|mm)\./;

/**
 * Returns the sizes of the weights of a GGUF file. Embedding tables stay in the format of the file,
 * unless they are the head and quantised. Other floating point numbers become float32.
 */
function sizesOfFile(disk: Disk, file: string): QuantizedSizes {
  const tensors = disk.ggufTensors(file).filter(({ name }) => !encoderTensor.test(name));
  const hasOwnHead = tensors.some(({ name }) => name === 'output.weight');
  let [stored, packed] = [0, 0];
  for (const { name, shape, byteLength, levels } of tensors) {
    const count = shape.reduce((product, n) => product * n, 1);
    const isHead = name === 'token_embd.weight' && !hasOwnHead;
    const isTable = name === 'token_embd.weight' || name === 'per_layer_token_embd.weight';
    const blocks = levels ? count / levels.length : 0;
    const whole = levels
      ? (count * levels.bits) / 8 + float * blocks * (levels.hasOffsets ? 2 : 1)
      : float * count;
    stored += isTable && !(isHead && levels) ? byteLength : whole;
    packed += isTable && !isHead ? 0 : whole + float * blocks;
  }
  return { stored: stored / mebibyte, packed: packed / mebibyte };
}

type MemoryParts = Omit<MemoryPlan, 'parameters' | 'total'>;

const none = { copies: 0, gradients: 0, moments: 0, critic: 0, activations: 0 };

function partsHere(stage: StageConfig, disk: Disk, sizes: Sizes): MemoryParts {
  const { model, mode } = stage;
  const { base, adapter = 0, quantized } = sizes;
  return {
    weights: (quantized?.stored ?? base) + adapter,
    ...(mode === 'bench' ? none : trainingParts(stage, disk, sizes)),
    // Gradients read the stored integers, and scores those that the runtime packs.
    ...(quantized && { copies: quantized.packed + 2 * adapter }),
    keyValueCache: mode === 'train' ? 0 : cacheSize(stage, model.maxModelLen, sizes),
    auxiliary: mode === 'train' ? 0 : auxiliary(stage, disk, sizes.budget),
  };
}

/**
 * Returns the memory that this process needs if servers train and sample: that of a critic and of
 * auxiliary models.
 */
function besideServers(stage: StageConfig, disk: Disk, sizes: Sizes): MemoryParts {
  const { mode, part, algorithm } = stage;
  const learns = algorithm.needs.valueHead && mode !== 'bench' && part !== 'explore';
  return {
    ...none,
    weights: 0,
    critic: learns ? critic(stage, disk) : 0,
    activations: learns ? microBatch(stage, sizes).within : 0,
    keyValueCache: 0,
    auxiliary: mode === 'train' ? 0 : auxiliary(stage, disk, sizes.budget),
  };
}

interface Sizes {
  readonly shape: ModelShape;
  /** Budget for activations, in MiB. The key/value cache has a separate budget of the same size. */
  readonly budget: number;
  /** Size of the model's weights, in MiB. */
  readonly base: number;
  /** Size of the adapter's weights, in MiB; undefined if there is no adapter. */
  readonly adapter: number | undefined;
  /** Undefined if the weights are not quantised. */
  readonly quantized: QuantizedSizes | undefined;
}

function trainingParts(
  stage: StageConfig,
  disk: Disk,
  sizes: Sizes,
): Pick<MemoryPlan, 'copies' | 'gradients' | 'moments' | 'critic' | 'activations'> {
  const { base, adapter } = sizes;
  const { referenceLogprobs, valueHead } = stage.algorithm.needs;
  const published = stage.mode === 'train' ? 0 : base;
  const reference = referenceLogprobs ? base : 0;
  const trained = adapter ?? base;
  return {
    // With an adapter, the base weights do not change and are the reference. The merged weights
    // exist twice while new weights are written and samplers still use the old weights.
    copies: adapter === undefined ? published + reference : 2 * base,
    gradients: trained,
    moments: 2 * trained,
    critic: valueHead ? critic(stage, disk) : 0,
    activations: activations(stage, sizes),
  };
}

/**
 * Returns the size of the key/value cache for all rollouts in flight at maximum length, in MiB; at
 * most the budget.
 */
const cacheSize = (
  { explorer }: StageConfig,
  maxModelLen: number,
  { shape, budget }: Pick<Sizes, 'shape' | 'budget'>,
): number => {
  const row = maxModelLen * keyValueBytesPerToken(shape) + stateBytesPerRow(shape);
  return Math.min(budget, (explorer.concurrency * row) / mebibyte);
};

/**
 * Returns the number of parameters of the adapter. For a stored adapter, assumes rank 32 and all
 * linear layers, because its folder is not read.
 */
function adapterParameters(lora: LoraConfig, shape: ModelShape): number {
  const stored = lora.path !== undefined;
  const named =
    stored || lora.targetModules === 'all-linear' ? linearModulesOf(shape) : lora.targetModules;
  return countAdapter(shape, stored ? 32 : lora.rank, named);
}

/** Returns the number of parameters of an adapter of rank `rank` for the named modules. */
export function countAdapter(shape: ModelShape, rank: number, named: readonly string[]): number {
  const {
    hiddenSize: D,
    heads: H,
    keyValueHeads: K,
    headDim: W,
    intermediateSize: F,
    layers,
    convolutions,
    delta,
    experts,
  } = shape;
  const gates = gatesOf(shape);
  const { channels = 0, values = 0, heads: valueHeads = 0 } = delta ?? {};
  const ends: Readonly<Record<string, number>> = {
    q_proj: D + gates * H * W,
    k_proj: D + K * W,
    v_proj: D + K * W,
    o_proj: H * W + D,
    gate_proj: D + F,
    up_proj: D + F,
    down_proj: F + D,
    qkv_proj: D + (H + 2 * K) * W,
    gate_up_proj: D + 2 * F,
    in_proj: 4 * D,
    out_proj: delta ? values + D : 2 * D,
    in_proj_qkv: D + channels,
    in_proj_z: D + values,
    in_proj_b: D + valueHeads,
    in_proj_a: D + valueHeads,
    w1: D + F,
    w3: D + F,
    w2: F + D,
    input_linear: D + 2 * F,
    output_linear: F + D,
  };
  const layersWith = (name: string): number => {
    if (name === 'in_proj') return convolutions;
    if (delta && /^(in_proj_.*|out_proj)$/.test(name)) return delta.layers;
    if (/^[kv]_proj$/.test(name)) return keyValueLayers(shape);
    return /^[qo]_proj$/.test(name) ? attentionLayers(shape) : layers;
  };
  // In models with experts, only the attention has adapters.
  const targets = experts ? named.filter((name) => /^[qkvo]_/.test(name)) : named;
  return rank * targets.reduce((sum, name) => sum + layersWith(name) * (ends[name] ?? 0), 0);
}

function critic({ model }: StageConfig, disk: Disk): number {
  const folder = readModelFolder(disk, model.criticModelPath ?? model.modelPath);
  return folder.kind === 'problem' ? 0 : (4 * countParameters(folder.shape) * float) / mebibyte;
}

/**
 * Returns the memory of the auxiliary models, in MiB. Models with the same folder share one engine
 * and its cache.
 */
function auxiliary(stage: StageConfig, disk: Disk, budget: number): number {
  const folders = new Map<string, number>();
  for (const { source, maxModelLen } of stage.explorer.auxiliaryModels) {
    if (source.kind === 'folder')
      folders.set(source.modelPath, Math.max(maxModelLen, folders.get(source.modelPath) ?? 0));
  }
  return [...folders].reduce((sum, [modelPath, maxModelLen]) => {
    const folder = readModelFolder(disk, modelPath);
    if (folder.kind === 'problem') return sum;
    const { shape } = folder;
    const weights = (countParameters(shape) * float) / mebibyte;
    return sum + weights + cacheSize(stage, maxModelLen, { shape, budget });
  }, 0);
}

/**
 * Returns the number of parameters of a decoder with grouped-query attention and a gated
 * feed-forward block: V D (twice if the embeddings are untied) + L (2 D H W + 2 D K W + 3 D F + 2
 * D) + D. V is the vocabulary size, D the hidden size, L the number of layers, F the width of the
 * feed-forward block, H and K the numbers of query and key/value heads, and W their width. With E
 * experts of width F, E (3 D F + D) replaces 3 D F. Ignores biases and the norms of queries and
 * keys, which are below 0.1 %.
 */
export function countParameters(shape: ModelShape): number {
  const {
    hiddenSize: D,
    vocabSize: V,
    layers: L,
    heads: H,
    keyValueHeads: K,
    headDim: W,
    intermediateSize: F,
    convolutions: C,
    experts,
  } = shape;
  const embeddings = V * D * (shape.tiedEmbeddings ? 1 : 2);
  const feedForward = experts ? experts.count * (3 * D * experts.size + D) : 3 * D * F;
  const gates = gatesOf(shape);
  const keys = keyValueLayers(shape) * 2 * D * K * W;
  const attention = attentionLayers(shape) * (1 + gates) * D * H * W + keys;
  const mixers = attention + C * 4 * D * D + deltaParameters(shape);
  return embeddings + mixers + L * (feedForward + 2 * D) + D + layerInputParameters(shape);
}

/** Returns the number of elements of the per-layer embedding table; 0 if there is none. */
export const tableParameters = ({ layers, layerInputs }: ModelShape): number =>
  layerInputs ? layerInputs.vocabSize * layers * layerInputs.size : 0;

/**
 * Returns the number of parameters of per-layer embeddings: the table, and three matrices per
 * layer.
 */
const layerInputParameters = (shape: ModelShape): number =>
  tableParameters(shape) + 3 * shape.layers * shape.hiddenSize * (shape.layerInputs?.size ?? 0);

/** Returns the number of elements of tables of which only rows are looked up. */
const lookupParameters = (shape: ModelShape): number =>
  tableParameters(shape) + (shape.tiedEmbeddings ? 0 : shape.vocabSize * shape.hiddenSize);

/**
 * Returns the width of the query projection's output, as a multiple of the combined width of all
 * heads: 2 if the attention has output gates, otherwise 1.
 */
const gatesOf = ({ delta }: ModelShape): number => (delta ? 2 : 1);

/**
 * Returns the number of parameters of the layers with the gated delta rule: projections, and four
 * convolution weights per channel.
 */
function deltaParameters({ delta, hiddenSize: D }: ModelShape): number {
  if (!delta) return 0;
  const { layers, heads, values, channels } = delta;
  return layers * (D * (channels + 2 * values + 2 * heads) + 4 * channels);
}

/**
 * Returns the memory for the activations of one row (`row`), of a batch (`all`), and of a
 * micro-batch (`within`), in MiB. A micro-batch stays within the budget unless it is a single row.
 */
function microBatch(stage: StageConfig, { shape, budget }: Sizes) {
  const row = bytesPerRow(shape, stage.model.maxModelLen) / mebibyte;
  const all = rowsPerBatch(stage) * row;
  return { row, all, within: Math.min(all, Math.max(budget, row)) };
}

/**
 * Returns the memory for activations, in MiB. If no budget is set and a batch needs more than the
 * default budget, the whole model is trained as one graph, which takes at most {@link machineShare}
 * of the machine's memory. If not even one row fits into that, the model is trained layer by layer
 * within the default budget.
 */
function activations(stage: StageConfig, sizes: Sizes): number {
  const { row, all, within } = microBatch(stage, sizes);
  // A quantised model is trained layer by layer, with the weights of one layer as floats, which
  // exist twice while integers are converted.
  if (sizes.quantized) {
    const { shape } = sizes;
    const layer = (countParameters(shape) - lookupParameters(shape)) / shape.layers;
    return within + (2 * layer * float) / mebibyte;
  }
  if (stage.model.memoryBudgetMb !== undefined || all <= sizes.budget) return within;
  const returned = 2 * (sizes.adapter ?? sizes.base);
  const most = (machineMemory() * machineShare) / mebibyte;
  return row + returned > most ? within : Math.max(within, Math.min(all + returned, most));
}

/**
 * Returns the size in bytes of the activations from which the gradients of one sequence of T tokens
 * are computed. Symbols are those of {@link countParameters}. Every layer keeps 4 D + 4 H W + 3 K W
 * + 3 F + H T numbers per token, where F is the combined width of all experts and their outputs if
 * there are experts. The layer that is being computed needs 4 D + 3 F + 2 H T more numbers per
 * token. The logits add at most {@link logitsBudget}.
 */
function bytesPerRow(shape: ModelShape, tokens: number): number {
  const {
    hiddenSize: D,
    layers: L,
    heads: H,
    keyValueHeads: K,
    headDim: W,
    intermediateSize,
    experts,
  } = shape;
  const F = experts ? experts.count * (experts.size + D) : intermediateSize;
  const kept = 4 * D + 4 * H * W + 3 * K * W + 3 * F + H * tokens;
  const transient = 4 * D + 3 * F + 2 * H * tokens;
  const head = Math.min(3 * tokens * shape.vocabSize * float, logitsBudget * mebibyte);
  return float * tokens * (L * kept + transient + 4 * D) + head;
}

const keyValueBytesPerToken = (shape: ModelShape): number =>
  2 * keyValueLayers(shape) * shape.keyValueHeads * shape.headDim * float;

/**
 * Returns the size of the recurrent state of the gated delta rule per row, in bytes: one matrix per
 * head in each layer. Ignores the few positions that convolutions keep.
 */
const stateBytesPerRow = ({ delta }: ModelShape): number =>
  delta ? delta.layers * delta.keyWidth * delta.values * float : 0;
