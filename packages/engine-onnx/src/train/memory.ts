/** How much memory training may take, and estimates of what its graphs need while they run. */
import { machineMemory } from '@trinity-rft/core/support';
import type { ModelConfig } from '../model/config.js';
import type { ParameterSpec } from '../model/parameters.js';

/**
 * Default memory for the activations of one micro-batch, in bytes. Larger budgets are not faster,
 * because the arrays no longer fit into the processor's caches.
 */
export const defaultMemoryBudget = 384 * 2 ** 20;

/** Where no budget is set, the share of the machine's memory for the gradients of a whole model at once. */
const machineShare = 1 / 8;
/** With a budget, and on small machines: one graph for the whole model may need so many times the budget. */
const timesBudget = 2;

/** Sizes in bytes. */
export interface TrainingMemory {
  /** For the activations of one micro-batch. */
  readonly budget: number;
  /**
   * For one graph of the whole model where that is more than {@link timesBudget} budgets: its activations, and the
   * gradients that it returns. Micro-batches may then exceed the budget. @default never
   */
  readonly wholeModel?: number;
}

/** Memory that `budget` allows; without one, that the machine allows. */
export function trainingMemory(budget: number | undefined): TrainingMemory {
  if (budget !== undefined) return { budget };
  return { budget: defaultMemoryBudget, wholeModel: machineMemory() * machineShare };
}

/** Most that one graph for the whole model may need with micro-batches of the budget, gradients included. */
export const mostOfBudget = ({ budget }: TrainingMemory): number => timesBudget * budget;

const bytes = 4;
/** Bytes that the head may hold at once. */
const headBudget = 256 * 2 ** 20;
/**
 * Arrays of width V alive at the same time in a part of the head: log-probabilities, probabilities,
 * gradients.
 */
const headArrays = 3;
/** Likewise where logits are capped: besides, the capped logits and their slope. */
const cappedHeadArrays = 5;
/** Scored positions that should fit into one micro-batch of the head. */
const headRows = 2048;
const maxParts = 64;
/** Columns that the kernels compute at a time. */
const partAlign = 128;

/** Parts of the head: a power of two, 1 while the vocabulary is small. */
export function headChunks(config: ModelConfig): number {
  const wanted = (headRows * config.vocabSize * bytes * headArrays) / headBudget;
  return Math.min(maxParts, 2 ** Math.max(0, Math.ceil(Math.log2(wanted))));
}

/** Values between the matrices of a feed-forward block; of a block of experts, all of these. */
function feedForwardWidth({ intermediateSize, experts, hiddenSize }: ModelConfig): number {
  const routed = experts ? experts.count * (experts.size + hiddenSize) : 0;
  return Math.max(intermediateSize, routed);
}

/**
 * Count of values that one layer keeps per position until its backward pass: what the gradients are
 * computed from.
 */
export function keptPerLayer(config: ModelConfig, time: number): number {
  const scores = (config.attentionCap === undefined ? 1 : 2) * config.heads * time;
  const queries = config.heads * config.headDim;
  const keys = config.kvHeads * config.headDim;
  const projections = (config.qkNorm ? 2 : 1) * (queries + keys) + keys;
  return 4 * config.hiddenSize + projections + queries + scores + 3 * feedForwardWidth(config);
}

/** Values per position that live only while one layer is computed. */
export function transientPerLayer(config: ModelConfig, time: number): number {
  return 4 * config.hiddenSize + 3 * feedForwardWidth(config) + 2 * config.heads * time;
}

function headCost(config: ModelConfig, picked: number): number {
  if (config.head === 'value') return 4 * picked * config.hiddenSize;
  const arrays = config.logitCap === undefined ? headArrays : cappedHeadArrays;
  return (picked / headChunks(config)) * config.vocabSize * arrays + 4 * picked * config.hiddenSize;
}

/** Scoring keeps one layer at a time. */
export function forwardCost(config: ModelConfig): MemoryCost {
  return (rows, time, picked) =>
    bytes * (rows * time * transientPerLayer(config, time) + headCost(config, picked));
}

/** Gradients keep every layer. */
export function backwardCost(config: ModelConfig): MemoryCost {
  return (rows, time, picked) =>
    bytes *
    (rows * time * (config.layers * keptPerLayer(config, time) + transientPerLayer(config, time)) +
      headCost(config, picked));
}

/** Gradients that a graph returns exist twice: in the runtime, and as its outputs. */
export function gradientBytes(specs: readonly ParameterSpec[]): number {
  return 2 * bytes * specs.reduce((sum, { size }) => sum + size, 0);
}

/** Gradients layer by layer keep the states between layers, and one layer. */
export function layerwiseCost(config: ModelConfig): MemoryCost {
  return (rows, time, picked) =>
    bytes *
    (rows *
      time *
      ((config.layers + 1) * config.hiddenSize +
        keptPerLayer(config, time) +
        transientPerLayer(config, time)) +
      4 * picked * config.hiddenSize);
}

/** Tokens of a part of the vocabulary whose logits and gradients fit into so many bytes. */
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
 * Bytes that a micro-batch of `rows` strands x `time` positions with `picked` of them scored needs while it
 * runs.
 */
export type MemoryCost = (rows: number, time: number, picked: number) => number;
