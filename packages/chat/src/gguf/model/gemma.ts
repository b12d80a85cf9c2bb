/**
 * Settings specific to Gemma: sliding windows, soft caps, and settings that differ between layers.
 */
import { unsupported } from '../file/failure.js';
import { feedForwardLengths, layerTypes, type Described } from './keys.js';
import { ropeByLayerType } from './rope.js';

/** Settings by architecture that GGUF files do not contain at all, or that many files lack. */
export const gemmas = {
  gemma2: {
    /**
     * Number of layers of the 27B model. Only this model scales attention by `hidden_size / heads`.
     */
    layersOf27B: 46,
    /**
     * Interval of the layers with full attention: every n-th layer. The others have a sliding
     * window.
     */
    period: 2,
    attentionCap: 50,
    finalCap: 30,
  },
  gemma3: { layersOf27B: 62, period: 6, attentionCap: null, finalCap: null },
  gemma4: { finalCap: 30 },
} as const;

/** Returns the keys of config.json that Gemma 2 and 3 have in addition to the common keys. */
export function gemmaKeys(
  model: Described,
  architecture: 'gemma2' | 'gemma3',
): Readonly<Record<string, unknown>> {
  const { keys, layers, heads, headDim, hiddenSize } = model;
  const known = gemmas[architecture];
  const number = (name: string): number | undefined => keys.number(keys.own(name));
  const window = number('attention.sliding_window');
  return {
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: layers === known.layersOf27B ? hiddenSize / heads : headDim,
    ...(architecture === 'gemma3' && {
      rope_local_base_freq: number('rope.freq_base_swa') ?? 10_000,
    }),
    sliding_window: window ?? null,
    layer_types: layerTypes(model, known.period),
    attn_logit_softcapping: number('attn_logit_softcapping') ?? known.attentionCap,
    final_logit_softcapping: number('final_logit_softcapping') ?? known.finalCap,
  };
}

/**
 * Returns the keys of config.json for Gemma 4. Layers with a sliding window have narrower heads
 * than the others, the last layers use the keys and values of earlier layers, and layers may have
 * an additional embedding of the token as input.
 * @param rope base and scaling of the rotary frequencies in layers with full attention
 * @throws CheckpointError that names a key whose value only occurs in larger models, which are not
 * supported
 */
export function gemma4Keys(
  model: Described,
  rope: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { keys, layers, headDim, vocabularySize } = model;
  const number = (name: string): number | undefined => keys.number(keys.own(name));
  const shared = number('attention.shared_kv_layers') ?? 0;
  assertKeyHeads(model);
  return {
    hidden_activation: 'gelu_pytorch_tanh',
    head_dim: keys.need(keys.own('attention.key_length_swa')),
    global_head_dim: headDim,
    rope_theta: undefined,
    rope_scaling: undefined,
    rope_parameters: ropeByLayerType(rope, number('rope.freq_base_swa') ?? 10_000),
    sliding_window: keys.need(keys.own('attention.sliding_window')),
    layer_types: layerTypes(model),
    num_kv_shared_layers: shared,
    use_double_wide_mlp: hasWideLayers(model, layers - shared),
    hidden_size_per_layer_input: number('embedding_length_per_layer_input') ?? 0,
    vocab_size_per_layer_input: vocabularySize,
    // 0 is no cap.
    final_logit_softcapping: (number('final_logit_softcapping') ?? gemmas.gemma4.finalCap) || null,
  };
}

/** Checks that all layers have the same number of key-value heads. */
function assertKeyHeads({ path, keys, kvHeads, kvHeadsByLayer }: Described): void {
  if (kvHeadsByLayer?.every((count) => count === kvHeads) ?? true) return;
  const name = keys.own('attention.head_count_kv');
  throw unsupported(
    path,
    name,
    `${name} differs between layers (${kvHeadsByLayer?.join(', ')}), as in the larger models of Gemma 4, which are not supported. Use Gemma 4 E2B or E4B.`,
  );
}

/**
 * Returns true if the feed-forward blocks are twice as wide from layer `first` on, and false if all
 * have the same width.
 * @throws CheckpointError when their widths differ in another way
 */
function hasWideLayers(model: Described, first: number): boolean {
  const lengths = feedForwardLengths(model);
  const width = lengths[0]!;
  const isWide = lengths.at(-1) !== width;
  if (lengths.every((length, layer) => length === (isWide && layer >= first ? 2 * width : width)))
    return isWide;
  const name = model.keys.own('feed_forward_length');
  throw unsupported(
    model.path,
    name,
    `${name} is ${lengths.join(', ')}; expected one width, or twice that width from layer ${first} on, where layers share keys. Use the Hugging Face folder of this model.`,
  );
}
