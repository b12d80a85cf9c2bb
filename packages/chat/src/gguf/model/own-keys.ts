/** Keys of config.json that depend on the architecture of a GGUF file. */
import { unsupported } from '../file/failure.js';
import type { GgufArchitecture } from './architecture.js';
import { gemma3Keys } from './gemma3.js';
import type { Described, Keys } from './keys.js';

type HfKeys = Readonly<Record<string, unknown>>;

export const ownKeys: Readonly<Record<GgufArchitecture, (model: Described) => HfKeys>> = {
  llama: attentionKeys,
  qwen2: attentionKeys,
  qwen3: attentionKeys,
  phi3: (model) => ({ ...attentionKeys(model), ...partKeys(model) }),
  mistral3: attentionKeys,
  lfm2: lfm2Keys,
  gemma3: (model) => ({ ...attentionKeys(model), ...gemma3Keys(model) }),
  granite: (model) => ({ ...attentionKeys(model), ...multipliers(model) }),
};

const epsilonOf = (keys: Keys): number => keys.need(keys.own('attention.layer_norm_rms_epsilon'));

function attentionKeys({ keys, heads }: Described): HfKeys {
  return {
    num_key_value_heads: keys.number(keys.own('attention.head_count_kv')) ?? heads,
    rms_norm_eps: epsilonOf(keys),
  };
}

/** Keys for partial rotary embeddings, and for an attention window that all layers share. */
const partKeys = ({ keys, headDim, rotated }: Described): HfKeys => ({
  partial_rotary_factor: rotated / headDim,
  sliding_window: keys.number(keys.own('attention.sliding_window')) || null,
});

/** Keys of LFM2. Layers without key heads have a convolution. */
function lfm2Keys({ path, keys }: Described): HfKeys {
  const name = keys.own('attention.head_count_kv');
  const kvHeads = keys.numbers(name);
  if (!kvHeads) throw unsupported(path, name, `the key ${name} is missing.`);
  return {
    num_key_value_heads: Math.max(...kvHeads),
    layer_types: kvHeads.map((count) => (count === 0 ? 'conv' : 'full_attention')),
    norm_eps: epsilonOf(keys),
    conv_L_cache: keys.need(keys.own('shortconv.l_cache')),
    block_auto_adjust_ff_dim: false,
  };
}

/** @throws CheckpointError for a model without rotary embeddings */
function multipliers({ path, keys, headDim }: Described): HfKeys {
  const rotated = keys.own('rope.scaling.finetuned');
  if (keys.flag(rotated) === false)
    throw unsupported(
      path,
      rotated,
      `${rotated} is false; expected true, because Granite models without rotary embeddings are not supported. Use the Hugging Face folder of this model.`,
    );
  const number = (name: string, otherwise: number): number =>
    keys.number(keys.own(name)) ?? otherwise;
  return {
    embedding_multiplier: number('embedding_scale', 1),
    attention_multiplier: number('attention.scale', headDim ** -0.5),
    residual_multiplier: number('residual_scale', 1),
    logits_scaling: number('logit_scale', 1),
  };
}
