/** Keys of config.json that depend on the architecture of a GGUF file. */
import { unsupported } from '../file/failure.js';
import type { GgufArchitecture } from './architecture.js';
import { gemma4Keys, gemmaKeys } from './gemma.js';
import { layerTypes, type Described, type Keys } from './keys.js';
import { ropeByLayerType } from './rope.js';

type HfKeys = Readonly<Record<string, unknown>>;

/**
 * For each architecture, a function that returns the keys of config.json that depend on the
 * architecture. `rope` holds the base and the scaling of the rotary frequencies, in the format of
 * `rope_parameters`.
 */
export const ownKeys: Readonly<
  Record<GgufArchitecture, (model: Described, rope: HfKeys) => HfKeys>
> = {
  llama: attentionKeys,
  qwen2: attentionKeys,
  qwen3: attentionKeys,
  qwen3moe: (model) => ({ ...attentionKeys(model), ...expertKeys(model) }),
  phi3: (model) => ({ ...attentionKeys(model), ...partKeys(model) }),
  mistral3: attentionKeys,
  lfm2: lfm2Keys,
  qwen35: (model) => ({ ...attentionKeys(model), ...qwen35Keys(model) }),
  smollm3: (model) => ({ ...attentionKeys(model), no_rope_layer_interval: 4 }),
  olmo2: (model, rope) => ({ ...attentionKeys(model), ...olmo3Keys(model, rope) }),
  gemma2: (model) => ({ ...attentionKeys(model), ...gemmaKeys(model, 'gemma2') }),
  gemma3: (model) => ({ ...attentionKeys(model), ...gemmaKeys(model, 'gemma3') }),
  gemma4: (model, rope) => ({ ...attentionKeys(model), ...gemma4Keys(model, rope) }),
  granite: (model) => ({ ...attentionKeys(model), ...multipliers(model) }),
};

const epsilonOf = (keys: Keys): number => keys.need(keys.own('attention.layer_norm_rms_epsilon'));

function attentionKeys({ keys, kvHeads }: Described): HfKeys {
  return { num_key_value_heads: kvHeads, rms_norm_eps: epsilonOf(keys) };
}

/**
 * Returns the keys for partial rotary embeddings, the original context length (before rotary
 * scaling), and a sliding window that is the same for all layers.
 */
const partKeys = ({ keys, headDim, rotated }: Described): HfKeys => ({
  partial_rotary_factor: rotated / headDim,
  original_max_position_embeddings: keys.number(keys.own('rope.scaling.original_context_length')),
  sliding_window: keys.number(keys.own('attention.sliding_window')) || null,
});

/**
 * Returns the keys of the experts. The constants are what llama.cpp assumes for Qwen3: every layer
 * has experts, and the weights of the chosen experts are normalised to sum 1.
 */
const expertKeys = ({ keys }: Described): HfKeys => ({
  num_experts: keys.need(keys.own('expert_count')),
  num_experts_per_tok: keys.need(keys.own('expert_used_count')),
  moe_intermediate_size: keys.need(keys.own('expert_feed_forward_length')),
  norm_topk_prob: true,
  decoder_sparse_step: 1,
  mlp_only_layers: [],
});

/**
 * Returns the keys of LFM2. A layer with 0 key-value heads has a convolution instead of attention.
 */
function lfm2Keys({ path, keys, kvHeads, kvHeadsByLayer: byLayer }: Described): HfKeys {
  const name = keys.own('attention.head_count_kv');
  if (!byLayer) throw unsupported(path, name, `the key ${name} is missing.`);
  return {
    num_key_value_heads: kvHeads,
    layer_types: byLayer.map((count) => (count === 0 ? 'conv' : 'full_attention')),
    norm_eps: epsilonOf(keys),
    conv_L_cache: keys.need(keys.own('shortconv.l_cache')),
    block_auto_adjust_ff_dim: false,
  };
}

/**
 * Returns the keys of Qwen3.5. A layer with 0 key-value heads has the gated delta rule instead of
 * attention.
 */
function qwen35Keys({ keys, layers, kvHeadsByLayer, headDim, rotated, delta }: Described): HfKeys {
  const interval = keys.number(keys.own('full_attention_interval')) ?? 4;
  const attends = (layer: number): boolean =>
    kvHeadsByLayer ? kvHeadsByLayer[layer] !== 0 : (layer + 1) % interval === 0;
  return {
    partial_rotary_factor: rotated / headDim,
    layer_types: Array.from({ length: layers }, (_, layer) =>
      attends(layer) ? 'full_attention' : 'linear_attention',
    ),
    linear_conv_kernel_dim: keys.need(keys.own('ssm.conv_kernel')),
    linear_num_key_heads: delta?.keyHeads,
    linear_key_head_dim: keys.need(keys.own('ssm.state_size')),
    linear_num_value_heads: delta?.valueHeads,
    linear_value_head_dim: delta?.valueDim,
  };
}

/**
 * Returns the keys of OLMo 3, whose files have the architecture of OLMo 2 but a sliding window.
 * Returns no keys for OLMo 2.
 */
function olmo3Keys(model: Described, rope: HfKeys): HfKeys {
  const window = model.keys.number(model.keys.own('attention.sliding_window'));
  if (!window) return {};
  return {
    architectures: ['Olmo3ForCausalLM'],
    model_type: 'olmo3',
    sliding_window: window,
    layer_types: layerTypes(model, 4),
    rope_parameters: ropeByLayerType(rope, rope['rope_theta']),
  };
}

/**
 * Returns Granite's scaling factors for embeddings, attention, residuals and logits.
 * @throws CheckpointError for a model without rotary embeddings
 */
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
