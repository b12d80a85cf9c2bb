/** Settings specific to Gemma 2 and 3: attention windows, soft caps, and two rotary embeddings. */
import type { Described } from './keys.js';

/** Settings by architecture for which GGUF files have no key, or a key that many files lack. */
export const gemmas = {
  gemma2: {
    /** Number of layers of the 27B model, whose attention alone is scaled by hidden size / heads. */
    layersOf27B: 46,
    /** One of so many layers has no window. */
    period: 2,
    attentionCap: 50,
    finalCap: 30,
  },
  gemma3: { layersOf27B: 62, period: 6, attentionCap: null, finalCap: null },
} as const;

/** Keys of config.json that the family adds to the common keys. */
export function gemmaKeys(
  { keys, layers, heads, headDim, hiddenSize }: Described,
  architecture: keyof typeof gemmas,
): Readonly<Record<string, unknown>> {
  const known = gemmas[architecture];
  const number = (name: string): number | undefined => keys.number(keys.own(name));
  const window = number('attention.sliding_window');
  const period = number('attention.sliding_window_pattern') ?? known.period;
  const isFull = (layer: number): boolean => window === undefined || (layer + 1) % period === 0;
  return {
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: layers === known.layersOf27B ? hiddenSize / heads : headDim,
    ...(architecture === 'gemma3' && {
      rope_local_base_freq: number('rope.freq_base_swa') ?? 10_000,
    }),
    sliding_window: window ?? null,
    layer_types: Array.from({ length: layers }, (_, layer) =>
      isFull(layer) ? 'full_attention' : 'sliding_attention',
    ),
    attn_logit_softcapping: number('attn_logit_softcapping') ?? known.attentionCap,
    final_logit_softcapping: number('final_logit_softcapping') ?? known.finalCap,
  };
}
