/** Keys of `config.json` whose names differ between model families. */

type Keys = Readonly<Record<string, unknown>>;

/** Translation of each `model_type`: computes the usual keys from the family's own keys. */
const renamed: Readonly<Record<string, (found: Keys) => Keys>> = {
  lfm2: (found) => ({
    intermediate_size: feedForwardWidth(found),
    rms_norm_eps: found['norm_eps'] ?? 1e-5,
    tie_word_embeddings: found['tie_embedding'] ?? found['tie_word_embeddings'] ?? true,
    layer_types: found['layer_types'] ?? layerTypes(found),
  }),
  // In this family, `intermediate_size` is the width of the experts.
  granitemoehybrid: ({ shared_intermediate_size: width, layer_types: types }) => ({
    intermediate_size: width ?? 1_024,
    layer_types: Array.isArray(types)
      ? types.map((type: unknown) => (type === 'attention' ? 'full_attention' : type))
      : types,
  }),
};

/** Returns a `config.json` with the keys that most families use. Other keys are unchanged. */
export function commonKeys(config: unknown): unknown {
  const found = (config ?? {}) as Keys;
  const own = renamed[String(found['model_type'])];
  return own ? { ...found, ...own(found) } : config;
}

/**
 * Returns the width of the feed-forward layer: two thirds of the configured width, times the
 * multiplier, rounded up to a multiple of `block_multiple_of`. Returns the configured width itself
 * if `block_auto_adjust_ff_dim` is false.
 * @see transformers, `Lfm2MLP`
 */
function feedForwardWidth(found: Keys): number {
  const named = Number(found['block_ff_dim'] ?? found['intermediate_size'] ?? 12_288);
  if (found['block_auto_adjust_ff_dim'] === false) return named;
  const factor = Number(found['block_ffn_dim_multiplier'] ?? 1);
  const step = Number(found['block_multiple_of'] ?? 256);
  return step * Math.ceil(Math.floor(factor * Math.floor((2 * named) / 3)) / step);
}

function layerTypes({ full_attn_idxs: attentive, num_hidden_layers: count }: Keys): unknown {
  if (!Array.isArray(attentive)) return undefined;
  return Array.from({ length: Number(count) }, (_, layer) =>
    attentive.includes(layer) ? 'full_attention' : 'conv',
  );
}
