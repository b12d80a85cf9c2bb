/** Reads which layers of a model have no attention, and the sizes of the mixers that replace it. */
import type { LayerTraits, ModelConfig } from './config.js';
import { invalid, type ConfigKeys } from './config-keys.js';
import { families } from './families.js';

/** Mixers, keyed by the values of `layer_types`. */
const mixersByType: Readonly<Record<string, LayerTraits['mixer']>> = {
  conv: 'conv',
  linear_attention: 'delta',
};

/** Returns the mixer of each layer, or undefined for a layer with attention. */
export function parseMixers(hf: ConfigKeys, file: string): readonly LayerTraits['mixer'][] {
  const { recurrent } = families[hf.model_type];
  const { layer_types: named } = hf;
  const mixers = Array.from({ length: hf.num_hidden_layers }, (_, layer) =>
    named ? mixersByType[named[layer] ?? ''] : mixerByInterval(hf, layer),
  );
  if (mixers.some((mixer) => mixer !== undefined && mixer !== recurrent))
    throw invalid(file, 'layer_types', named, 'layers with attention, as model_type has them');
  if (!mixers.includes(undefined))
    throw invalid(file, 'layer_types', named, 'at least one full_attention');
  return mixers;
}

function mixerByInterval(hf: ConfigKeys, layer: number): LayerTraits['mixer'] {
  const { full_attention_interval: interval, model_type: family } = hf;
  const attends = interval == null || (layer + 1) % interval === 0;
  return attends ? undefined : families[family].recurrent;
}

const parsers = { conv: parseConvolution, delta: parseDelta } as const;

type Sizes = Pick<ModelConfig, 'convTaps' | 'delta'>;

/** Returns the sizes of the mixers in layers without attention. */
export function parseRecurrence(hf: ConfigKeys, file: string): Sizes {
  const { recurrent } = families[hf.model_type];
  return recurrent ? parsers[recurrent](hf, file) : {};
}

function parseConvolution({ conv_L_cache: taps }: ConfigKeys): Sizes {
  return { convTaps: taps ?? undefined };
}

function parseDelta(hf: ConfigKeys, file: string): Sizes {
  const [keyHeads, valueHeads] = [hf.linear_num_key_heads ?? 1, hf.linear_num_value_heads ?? 1];
  if (valueHeads % keyHeads !== 0) {
    const expected = `a multiple of linear_num_key_heads (${keyHeads})`;
    throw invalid(file, 'linear_num_value_heads', valueHeads, expected);
  }
  return {
    convTaps: hf.linear_conv_kernel_dim ?? undefined,
    delta: {
      keyHeads,
      keyDim: hf.linear_key_head_dim ?? 1,
      valueHeads,
      valueDim: hf.linear_value_head_dim ?? 1,
    },
  };
}
