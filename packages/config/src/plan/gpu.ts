/** Memory of one GPU that TuFT and vLLM share. */
import type { Disk } from '../resolve/base/disk.js';
import type { StageConfig } from '../resolve/base/resolved.js';
import {
  attentionLayers,
  linearModulesOf,
  readModelFolder,
} from '../resolve/model/model-folder.js';
import { countAdapter, countParameters } from './memory.js';
import { serverOf } from './tinker-server.js';

/** Sizes in GB, 10^9 bytes. */
export interface GpuPlan {
  /** Peak of TuFT while it trains rows of the maximum length one by one. */
  readonly trainer: number;
  /** Memory of vLLM with the keys and values of {@link cachedTokens} tokens. */
  readonly sampler: number;
  readonly fits: readonly { readonly size: number; readonly verdict: GpuVerdict }[];
}

/** `asleep`: fits if vLLM frees its memory while TuFT trains. */
type GpuVerdict = 'fits' | 'asleep' | 'no';

const sizes = [24, 48, 80] as const;
export const cachedTokens = 65_536;
/** Memory that CUDA and fragmentation take with TuFT and with vLLM, in GB. */
const [context, vllmContext] = [1.5, 2];
/** Share of a GPU that can be used. */
const usable = 0.95;

/**
 * Memory for a bfloat16 base with a float32 adapter. Training takes: weights 2 P; adapter, gradient
 * and moments 16 A; inputs of L layers and one layer that is recomputed 2 L T D + 140 T D; logits
 * and their gradients 8 T V. Keys and values take 4 L K W bytes per token. P is the number of
 * parameters, A that of the adapter, T the tokens, D the hidden size, V the vocabulary, K the
 * number of key/value heads of width W. Undefined if the plan starts no TuFT with vLLM, or the
 * model is not on this disk.
 */
export function planGpu(stage: StageConfig, disk: Disk): GpuPlan | undefined {
  const { model, sampler } = stage;
  if (stage.engine !== 'tinker' || serverOf(stage) !== 'tuft' || sampler?.name !== 'vllm')
    return undefined;
  const folder = model.isLocal ? readModelFolder(disk, model.modelPath) : undefined;
  if (folder?.kind !== 'shape') return undefined;
  const { shape } = folder;
  const { layers, hiddenSize, vocabSize, keyValueHeads, headDim } = shape;
  const tokens = model.maxModelLen;
  const weights = 2 * countParameters(shape);
  const adapter = 16 * countAdapter(shape, model.tinker.rank, linearModulesOf(shape));
  const activations = tokens * hiddenSize * (2 * layers + 140) + 8 * tokens * vocabSize;
  const cache = cachedTokens * 4 * attentionLayers(shape) * keyValueHeads * headDim;
  const trainer = (weights + adapter + activations) / 1e9 + context;
  const sampling = (weights + cache) / 1e9 + vllmContext;
  const verdictOf = (size: number): GpuVerdict => {
    const room = size * usable;
    if (trainer + sampling <= room) return 'fits';
    return Math.max(trainer + context, sampling) <= room ? 'asleep' : 'no';
  };
  return {
    trainer,
    sampler: sampling,
    fits: sizes.map((size) => ({ size, verdict: verdictOf(size) })),
  };
}
