/** Memory limits of training, and estimates of the memory that its graphs need. */
import { machineMemory } from '@trinity-rft/core/support';
import {
  deltaChannels,
  deltaShape,
  headDimOf,
  layerTraits,
  type Mixer,
  type ModelConfig,
} from '../model/config.js';
import type { ParameterSpec } from '../model/parameters.js';
import { chunkLength } from '../onnx/ops/gated-delta-gradient.js';

/**
 * Default memory for the activations of one micro-batch, in bytes. Larger budgets are not faster,
 * because the arrays no longer fit into the processor's caches.
 */
export const defaultMemoryBudget = 384 * 2 ** 20;

/**
 * Fraction of the machine's memory that one graph for the whole model may use if no budget is set.
 */
const machineShare = 1 / 8;
/**
 * Maximum memory of one graph for the whole model, including gradients, as a multiple of the
 * budget. Applies if each of the graph's micro-batches fits the budget.
 */
const timesBudget = 2;

/** Memory limits in bytes. */
export interface TrainingMemory {
  /** Memory for the activations of one micro-batch. */
  readonly budget: number;
  /**
   * Maximum memory for one graph of the whole model, including activations and returned gradients.
   * Up to this maximum, micro-batches may exceed `budget`. If the graph needs more than the
   * maximum, {@link timesBudget} applies.
   * @default undefined: every micro-batch is limited to `budget`
   */
  readonly wholeModel?: number;
}

/**
 * Returns the memory limits of training. Without `budget`, the budget is
 * {@link defaultMemoryBudget}, and `wholeModel` is a share of the machine's memory.
 */
export function trainingMemory(budget: number | undefined): TrainingMemory {
  if (budget !== undefined) return { budget };
  return { budget: defaultMemoryBudget, wholeModel: machineMemory() * machineShare };
}

/**
 * Returns the memory, including gradients, that one graph for the whole model may need while its
 * micro-batches stay within the budget.
 */
export const mostOfBudget = ({ budget }: TrainingMemory): number => timesBudget * budget;

const bytes = 4;
/** Maximum total size in bytes of the head's arrays that exist at the same time. */
const headBudget = 256 * 2 ** 20;
/**
 * Number of arrays of width V that exist at the same time in a part of the head: log-probabilities,
 * probabilities, gradients.
 */
const headArrays = 3;
/**
 * Number of arrays as in {@link headArrays} if the model caps logits: the capped logits and their
 * slope are two additional arrays.
 */
const cappedHeadArrays = 5;
/** Number of scored positions that should fit into one micro-batch of the head. */
const headRows = 2048;
const maxParts = 64;
/** Number of columns that the kernels compute at a time. */
const partAlign = 128;

/**
 * Returns the number of chunks into which the language-model head is split. It is a power of two,
 * and 1 for a small vocabulary.
 */
export function headChunks(config: ModelConfig): number {
  const wanted = (headRows * config.vocabSize * bytes * headArrays) / headBudget;
  return Math.min(maxParts, 2 ** Math.max(0, Math.ceil(Math.log2(wanted))));
}

/**
 * Returns the number of intermediate values per position in a layer's feed-forward block. With
 * experts, returns the total of all experts.
 */
function feedForwardWidth(config: ModelConfig, layer: number): number {
  const { experts, hiddenSize } = config;
  const { intermediateSize = config.intermediateSize } = layerTraits(config, layer);
  const routed = experts ? experts.count * (experts.size + hiddenSize) : 0;
  return Math.max(intermediateSize, routed);
}

/**
 * Returns, for each layer, the number of values per position that are kept for the backward pass.
 */
const keptByLayer = (config: ModelConfig, time: number): readonly number[] =>
  Array.from({ length: config.layers }, (_, layer) => {
    const { mixer = 'attention' } = layerTraits(config, layer);
    const { hiddenSize, perLayerInputs } = config;
    const input = perLayerInputs ? 2 * (hiddenSize + perLayerInputs.size) : 0;
    const mixed = kept[mixer](config, time, layer);
    return 4 * hiddenSize + mixed + 3 * feedForwardWidth(config, layer) + input;
  });

/** Returns the largest number of values per position that any layer keeps for its backward pass. */
export const keptPerLayer = (config: ModelConfig, time: number): number =>
  Math.max(...keptByLayer(config, time));

/**
 * Returns the number of values that all layers together keep per position for the backward pass.
 */
const keptOfLayers = (config: ModelConfig, time: number): number =>
  keptByLayer(config, time).reduce((sum, values) => sum + values, 4 * inputWidth(config));

/** Returns the number of values per position of the per-layer inputs of all layers. */
const inputWidth = ({ layers, perLayerInputs }: ModelConfig): number =>
  layers * (perLayerInputs?.size ?? 0);

function attentionKept(config: ModelConfig, time: number, layer: number): number {
  const scores = (config.attentionCap === undefined ? 1 : 2) * config.heads * time;
  const queries = config.heads * headDimOf(config, layer);
  const keys = config.kvHeads * headDimOf(config, layer);
  const projections = (config.qkNorm ? 2 : 1) * (queries + keys) + keys;
  return projections + queries + scores;
}

/**
 * Returns the number of values per position that a gated delta layer keeps: before and after the
 * convolution, its activation and norms, then result, norm, gate and product.
 */
function deltaKept(config: ModelConfig): number {
  const { valueHeads, valueDim } = deltaShape(config);
  return 5 * deltaChannels(config) + 4 * valueHeads * valueDim;
}

/**
 * Returns the number of values per position that a convolution layer keeps: the three parts of the
 * projection, the product before the convolution, its result, and the gated result.
 */
const convolutionKept = ({ hiddenSize }: ModelConfig): number => 6 * hiddenSize;

/** Number of values per position that each mixer keeps between the norms of a layer. */
const kept: Readonly<Record<Mixer, (config: ModelConfig, time: number, layer: number) => number>> =
  {
    attention: attentionKept,
    conv: convolutionKept,
    delta: deltaKept,
  };

/**
 * Returns the number of temporary values of a gated delta layer per position: matrices of positions
 * by positions and of positions by width, and the states between chunks.
 */
function deltaTransient({ delta }: ModelConfig): number {
  if (!delta) return 0;
  const { valueHeads, keyDim, valueDim } = delta;
  const states = (4 * keyDim * valueDim) / chunkLength;
  return valueHeads * (12 * chunkLength + 14 * (keyDim + valueDim) + states);
}

/** Returns the number of values per position that exist only while one layer is computed. */
export function transientPerLayer(config: ModelConfig, time: number): number {
  const mixed = Math.max(2 * config.heads * time, deltaTransient(config));
  const widths = Array.from({ length: config.layers }, (_, layer) =>
    feedForwardWidth(config, layer),
  );
  return 4 * config.hiddenSize + 3 * Math.max(...widths) + mixed;
}

function headCost(config: ModelConfig, picked: number): number {
  if (config.head === 'value') return 4 * picked * config.hiddenSize;
  const arrays = config.logitCap === undefined ? headArrays : cappedHeadArrays;
  return (picked / headChunks(config)) * config.vocabSize * arrays + 4 * picked * config.hiddenSize;
}

/** Estimates the memory of a forward pass, which holds the activations of one layer at a time. */
export function forwardCost(config: ModelConfig): MemoryCost {
  return (rows, time, picked) =>
    bytes *
    (rows * time * (transientPerLayer(config, time) + 4 * inputWidth(config)) +
      headCost(config, picked));
}

/** Estimates the memory of a backward pass, including the kept activations of every layer. */
export function backwardCost(config: ModelConfig): MemoryCost {
  return (rows, time, picked) =>
    bytes *
    (rows * time * (keptOfLayers(config, time) + transientPerLayer(config, time)) +
      headCost(config, picked));
}

/**
 * Returns the size of the returned gradients in bytes. Each gradient is in memory twice: inside the
 * runtime and as an output.
 */
export function gradientBytes(specs: readonly ParameterSpec[]): number {
  return 2 * bytes * specs.reduce((sum, { size }) => sum + size, 0);
}

/**
 * Estimates the memory of a backward pass that computes layer by layer, and holds the states
 * between layers and the activations of one layer.
 */
export function layerwiseCost(config: ModelConfig): MemoryCost {
  return (rows, time, picked) =>
    bytes *
    (rows *
      time *
      ((config.layers + 1) * config.hiddenSize +
        inputWidth(config) +
        keptPerLayer(config, time) +
        transientPerLayer(config, time)) +
      4 * picked * config.hiddenSize);
}

/** Returns the number of vocabulary tokens whose logits and gradients fit into `headBytes`. */
export function vocabularyPart(
  { hiddenSize, vocabSize, logitCap }: ModelConfig,
  picked: number,
  headBytes: number,
): number {
  const arrays = logitCap === undefined ? headArrays : cappedHeadArrays;
  const perToken = bytes * (arrays * picked + 2 * hiddenSize);
  const most = Math.floor(headBytes / perToken / partAlign) * partAlign;
  return Math.min(vocabSize, Math.max(partAlign, most));
}

/**
 * Returns the memory in bytes that a micro-batch needs with `rows` groups of `time` positions, of
 * which `picked` are scored.
 */
export type MemoryCost = (rows: number, time: number, picked: number) => number;
