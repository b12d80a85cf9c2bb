/**
 * Reads head widths and shared keys and values in families whose layers differ in both: Gemma 4.
 */
import type { LayerTraits, PerLayerInputs } from './config.js';
import { invalid, type ConfigKeys } from './config-keys.js';
import { families } from './families.js';

/** Width of heads in layers without a window, unless config.json specifies it. */
const assumedGlobalHeadDim = 512;

/**
 * Returns the width of a head in layers without a window. transformers 5 writes the width of each
 * such layer to `per_layer_config`; released models have `global_head_dim`.
 */
export function parseGlobalHeadDim(hf: ConfigKeys, file: string): number {
  const { layer_types: types, per_layer_config: layers } = hf;
  const written = Object.entries(layers ?? {});
  const width = hf.global_head_dim ?? written[0]?.[1].head_dim ?? assumedGlobalHeadDim;
  const expected = (types ?? []).flatMap((type, layer) =>
    type === 'full_attention' ? [[String(layer), { head_dim: width }]] : [],
  );
  if (layers && JSON.stringify(written) !== JSON.stringify(expected))
    throw invalid(
      file,
      'per_layer_config',
      layers,
      'one head_dim for all layers of full_attention, and nothing else',
    );
  if (width % 2 !== 0) throw invalid(file, 'global_head_dim', width, 'an even whole number');
  return width;
}

/**
 * Returns the traits of each layer that follow from shared keys and values.
 * @param slides true for each layer with a window
 */
export function parseSharedKeys(
  hf: ConfigKeys,
  slides: readonly boolean[],
  file: string,
): readonly Pick<LayerTraits, 'headDim' | 'keysOf' | 'intermediateSize'>[] {
  if (!families[hf.model_type].sharedKeys) return slides.map(() => ({}));
  const { num_kv_shared_layers: shared, use_double_wide_mlp: wide, layer_types: types } = hf;
  if (slides.at(-1)) throw invalid(file, 'layer_types', types, 'full_attention as the last layer');
  const first = slides.length - (shared ?? 0);
  return slides.map((isLocal, layer) => {
    const headDim = isLocal ? (hf.head_dim ?? undefined) : undefined;
    if (layer < first) return { headDim };
    const keysOf = slides.slice(0, Math.max(0, first)).lastIndexOf(isLocal);
    if (keysOf < 0) {
      const expected = 'a number that leaves a layer of each type with keys and values of its own';
      throw invalid(file, 'num_kv_shared_layers', shared, expected);
    }
    return { headDim, keysOf, intermediateSize: wide ? 2 * hf.intermediate_size : undefined };
  });
}

/** Returns the sizes of the per-layer inputs, or undefined if there are none. */
export function parsePerLayerInputs(hf: ConfigKeys, file: string): PerLayerInputs | undefined {
  const { hidden_size_per_layer_input: size, vocab_size: tokens } = hf;
  if (!families[hf.model_type].sharedKeys || !size) return undefined;
  const vocabSize = hf.vocab_size_per_layer_input ?? tokens;
  if (vocabSize >= tokens) return { size, vocabSize };
  const expected = `at least vocab_size (${tokens})`;
  throw invalid(file, 'vocab_size_per_layer_input', vocabSize, expected);
}
