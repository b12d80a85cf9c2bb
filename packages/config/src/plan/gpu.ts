/** Plans the memory of one GPU that TuFT and vLLM share. */
import type { Disk } from '../resolve/base/disk.js';
import type { StageConfig } from '../resolve/base/resolved.js';
import { keyValueLayers, linearModulesOf, readModelFolder } from '../resolve/model/model-folder.js';
import { countAdapter, countParameters } from './memory.js';
import { serverOf } from './tinker-server.js';

/** Memory plan for one GPU. Sizes are in GB (10^9 bytes). */
export interface GpuPlan {
  /** Peak memory of TuFT when it trains one row of maximum length at a time. */
  readonly trainer: number;
  /** Memory of vLLM with a key/value cache of {@link cachedTokens} tokens. */
  readonly sampler: number;
  readonly fits: readonly { readonly size: number; readonly verdict: GpuVerdict }[];
}

/**
 * Verdict on one size of GPU. `fits`: both programs fit at the same time. `asleep`: they fit only
 * if vLLM frees its memory while TuFT trains. `no`: the GPU is too small.
 */
type GpuVerdict = 'fits' | 'asleep' | 'no';

const sizes = [24, 48, 80] as const;
export const cachedTokens = 65_536;
/** Overhead of CUDA and memory fragmentation in TuFT and in vLLM, in GB. */
const [context, vllmContext] = [1.5, 2];
/** Usable fraction of a GPU's memory. */
const usable = 0.95;

/**
 * Computes the memory for a bfloat16 base model with a float32 adapter. In bytes, training takes 2
 * P for weights; 16 A for the adapter, its gradient and its moments; 2 L T D + 140 T D for the
 * inputs of the layers and one recomputed layer; and 8 T V for logits and their gradients. Keys and
 * values take 4 L K W bytes per token. P is the number of parameters, A the number of adapter
 * parameters, L the number of layers, T the number of tokens, D the hidden size, V the vocabulary
 * size, and K the number of key/value heads of width W. Returns undefined if the plan does not
 * start TuFT with vLLM, or if the model is not on this disk.
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
  const cache = cachedTokens * 4 * keyValueLayers(shape) * keyValueHeads * headDim;
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
