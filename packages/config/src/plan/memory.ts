/** How much memory the embedded engine needs for a model, from its shape alone. */
import type { Disk } from '../derive/context.js';
import { readModelFolder, type ModelShape } from '../derive/model-folder.js';
import type { StageConfig } from '../resolved.js';

/** Sizes in MiB. */
export interface MemoryPlan {
  /** Numbers in the model. */
  readonly parameters: number;
  readonly weights: number;
  /** Weights as they were published for sampling, and the frozen reference. */
  readonly copies: number;
  readonly gradients: number;
  /** First and second moment of AdamW. */
  readonly moments: number;
  /** Of one micro-batch: the budget that the file sets, else one row of the greatest length. */
  readonly activations: number;
  /** Keys and values of all runs in flight, if each grows to the greatest length. */
  readonly keyValueCache: number;
  readonly total: number;
}

const float = 4;
const mebibyte = 2 ** 20;

export function planMemory(stage: StageConfig, disk: Disk): MemoryPlan | undefined {
  const { model, mode, algorithm } = stage;
  if (!model.isLocal) return undefined;
  const folder = readModelFolder(disk, model.modelPath);
  if (folder.kind === 'problem') return undefined;
  const { shape } = folder;
  const parameters = countParameters(shape);
  const once = (parameters * float) / mebibyte;
  const trains = mode !== 'bench';
  const samples = mode !== 'train';
  const reference = trains && algorithm.klLossFn.name !== 'none' && algorithm.klLossFn.args.klCoef !== 0;
  const parts = {
    weights: once,
    copies: once * ((trains && samples ? 1 : 0) + (reference ? 1 : 0)),
    gradients: trains ? once : 0,
    moments: trains ? 2 * once : 0,
    activations: trains ? (model.memoryBudgetMb ?? activationsPerRow(shape, model.maxModelLen) / mebibyte) : 0,
    keyValueCache: samples ? (stage.explorer.concurrency * model.maxModelLen * keyValueBytesPerToken(shape)) / mebibyte : 0,
  };
  const total = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { parameters, ...parts, total };
}

/**
 * Parameters of a decoder with grouped-query attention and a gated feed-forward block:
 * V D (twice when untied) + L (2 D H W + 2 D K W + 3 D F + 2 D) + D, with W the head width, H and K the heads. Biases and the
 * norms of query and key are left out: below 0.1 %.
 */
export function countParameters(shape: ModelShape): number {
  const { hiddenSize: D, vocabSize: V, layers: L, heads: H, keyValueHeads: K, headDim: W, intermediateSize: F } = shape;
  const embeddings = V * D * (shape.tiedEmbeddings ? 1 : 2);
  return embeddings + L * (2 * D * H * W + 2 * D * K * W + 3 * D * F + 2 * D) + D;
}

/**
 * Bytes that the backward pass of one sequence of T tokens keeps: per layer about 10 arrays of width D, 5 of width F, the
 * heads, and H T T attention weights; at the top a chunk of logits. A rough figure: within a factor of two.
 */
function activationsPerRow(shape: ModelShape, tokens: number): number {
  const { hiddenSize: D, layers: L, heads: H, keyValueHeads: K, headDim: W, intermediateSize: F } = shape;
  const perToken = L * (10 * D + 5 * F + 4 * (H + K) * W) + 5 * Math.min(shape.vocabSize, 16_384);
  return float * (tokens * perToken + L * H * tokens * tokens * 2);
}

function keyValueBytesPerToken(shape: ModelShape): number {
  return 2 * shape.layers * shape.keyValueHeads * shape.headDim * float;
}
