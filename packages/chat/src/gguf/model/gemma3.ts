/**
 * Settings specific to Gemma 3: attention windows, two rotary embeddings, and norms that llama.cpp
 * stores with 1 added.
 */
import type { Described } from './keys.js';

/**
 * Number of layers of Gemma 3 27B, the only model whose attention is scaled by hidden size / heads.
 */
const layersOf27B = 62;
const defaultPeriod = 6;

/** Keys of config.json that Gemma 3 adds to the common keys. */
export function gemma3Keys({
  keys,
  heads,
  headDim,
  hiddenSize,
}: Described): Readonly<Record<string, unknown>> {
  const layers = keys.need(keys.own('block_count'));
  const window = keys.number(keys.own('attention.sliding_window'));
  const period = keys.number(keys.own('attention.sliding_window_pattern')) ?? defaultPeriod;
  const isFull = (layer: number): boolean => window === undefined || (layer + 1) % period === 0;
  return {
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: layers === layersOf27B ? hiddenSize / heads : headDim,
    rope_local_base_freq: keys.number(keys.own('rope.freq_base_swa')) ?? 10_000,
    sliding_window: window ?? null,
    layer_types: Array.from({ length: layers }, (_, layer) =>
      isFull(layer) ? 'full_attention' : 'sliding_attention',
    ),
    final_logit_softcapping: keys.number(keys.own('final_logit_softcapping')) ?? null,
  };
}

/** Subtracts the 1 that llama.cpp's converter adds to the weights of a norm. */
export function withoutOffset(weights: Float32Array): void {
  for (let i = 0; i < weights.length; i++) weights[i]! -= 1;
}
