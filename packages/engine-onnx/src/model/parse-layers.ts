/** Reads how the layers of a model differ: in mixers, windows, rotary embeddings and experts. */
import type { Experts, LayerTraits } from './config.js';
import { attentionOnly, invalid, type ConfigKeys } from './config-keys.js';
import { families, type WindowPattern } from './families.js';
import { parseMixers } from './parse-recurrence.js';
import { parseSharedKeys } from './parse-shared-keys.js';

/** Returns the traits of each layer, or undefined if no layer differs from the default. */
export function parseLayers(
  hf: ConfigKeys,
  { file, maxPositions }: { readonly file: string; readonly maxPositions: number },
): readonly LayerTraits[] | undefined {
  const family = families[hf.model_type];
  const rotated = rotatedLayers(hf, file);
  const sliding = slidingLayers(hf, rotated, file);
  const dense = denseLayers(hf);
  const mixers = parseMixers(hf, file);
  const shared = parseSharedKeys(hf, sliding, file);
  // A window that is as long as the longest sequence has no effect.
  const window =
    hf.sliding_window != null && hf.sliding_window < maxPositions ? hf.sliding_window : undefined;
  const local = family.windows?.localRope ? 'local' : undefined;
  const traits = sliding.map((slides, layer): LayerTraits => {
    const rope = slides ? local : undefined;
    return {
      mixer: mixers[layer],
      window: slides ? window : undefined,
      rope: rotated[layer] ? rope : 'none',
      dense: dense[layer],
      ...shared[layer],
    };
  });
  const differs = (each: LayerTraits): boolean =>
    Object.values(each).some((value) => value !== undefined);
  return traits.some(differs) ? traits : undefined;
}

/** Returns a list with a value for each layer. */
const each = <T>(
  { num_hidden_layers: count }: ConfigKeys,
  of: (layer: number) => T,
): readonly T[] => Array.from({ length: count }, (_, layer) => of(layer));

function rotatedLayers(hf: ConfigKeys, file: string): readonly boolean[] {
  const { unrotatedLayers, hybrid } = families[hf.model_type];
  if (!unrotatedLayers) return each(hf, () => !hybrid || hf.position_embedding_type === 'rope');
  const { no_rope_layers: listed, no_rope_layer_interval: interval } = hf;
  assertLength(hf, 'no_rope_layers', file);
  return each(hf, (layer) => (listed ? listed[layer] !== 0 : (layer + 1) % (interval ?? 1) !== 0));
}

function slidingLayers(
  hf: ConfigKeys,
  rotated: readonly boolean[],
  file: string,
): readonly boolean[] {
  const { windows } = families[hf.model_type];
  assertLength(hf, 'layer_types', file);
  const off = hf.sliding_window == null || (windows?.switched && hf.use_sliding_window !== true);
  const byRule = each(hf, (layer) => !off && inPattern(windows?.layers, hf, rotated, layer));
  const named = hf.layer_types?.map((type) => type === 'sliding_attention');
  if (!named) return byRule;
  const free = windows !== undefined && windows.layers !== 'all' && !off;
  const wrong = free ? -1 : named.findIndex((slides, layer) => slides !== byRule[layer]);
  if (wrong < 0) return named;
  throw invalid(
    file,
    `layer_types.${wrong}`,
    hf.layer_types?.[wrong],
    `${byRule[wrong] ? 'sliding' : 'full'}_attention, which follows from model_type and sliding_window`,
  );
}

function inPattern(
  pattern: WindowPattern | undefined,
  hf: ConfigKeys,
  rotated: readonly boolean[],
  layer: number,
): boolean {
  if (pattern === undefined) return false;
  if (pattern === 'late') return layer >= (hf.max_window_layers ?? 0);
  if (pattern === 'unrotated') return !rotated[layer];
  return pattern === 'all' || (layer + 1) % (hf.sliding_window_pattern ?? 1) !== 0;
}

/** Returns, for each layer, true if it has a plain feed-forward block in a model with experts. */
function denseLayers(hf: ConfigKeys): readonly (true | undefined)[] {
  const { mlp_only_layers: listed, decoder_sparse_step: step } = hf;
  const routed = (layer: number): boolean =>
    !listed?.includes(layer) && (layer + 1) % (step ?? 1) === 0;
  const has = families[hf.model_type].experts;
  return each(hf, (layer) => (has && !routed(layer) ? true : undefined));
}

function assertLength(hf: ConfigKeys, key: 'layer_types' | 'no_rope_layers', file: string): void {
  const found = hf[key];
  if (found == null || found.length === hf.num_hidden_layers) return;
  throw invalid(
    file,
    key,
    found,
    `a list with one entry for each of ${hf.num_hidden_layers} layers`,
  );
}

/**
 * Checks that a model of a hybrid family has neither Mamba-2 layers nor experts.
 * @throws CheckpointError when it has either
 */
export function assertDense(hf: ConfigKeys, file: string): void {
  const { num_local_experts: experts, layer_types: types } = hf;
  if (experts) throw invalid(file, 'num_local_experts', experts, `0, and ${attentionOnly}`);
  if (!types || types.includes('linear_attention'))
    throw invalid(file, 'layer_types', types ?? undefined, attentionOnly);
}

export function parseExperts(hf: ConfigKeys, file: string): Experts | undefined {
  if (!families[hf.model_type].experts) return undefined;
  const { num_experts_per_tok: active, moe_intermediate_size: size } = hf;
  // transformers 5 writes `num_local_experts`, earlier versions write `num_experts`.
  const count = hf.num_local_experts ?? hf.num_experts;
  if (!count || !active || size == null)
    throw invalid(file, 'num_experts', count, 'the number and sizes of the experts');
  if (active > count)
    throw invalid(file, 'num_experts_per_tok', active, `at most num_experts (${count})`);
  return { count, active, size, normalize: hf.norm_topk_prob ?? false };
}
