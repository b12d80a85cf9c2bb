/** Writes small models as quantised GGUF files. */
import { buildCharTokenizer } from '@trinity-rft/chat';
import { saveGgufModel } from '@trinity-rft/chat/gguf';

type Shapes = Readonly<Record<string, readonly number[]>>;

const [hidden, inner, layers] = [32, 64, 2];
const characters = 'abcdefghijklmnopqrstuvwxyz';
const common = {
  vocab_size: characters.length + 2,
  num_hidden_layers: layers,
  max_position_embeddings: 128,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  tie_word_embeddings: true,
};

/** @param target path of the file, in Q8_0 */
export async function writeQuantizedFile(target: string): Promise<void> {
  const config = {
    ...common,
    model_type: 'llama',
    hidden_size: hidden,
    intermediate_size: inner,
    num_attention_heads: 4,
    num_key_value_heads: 2,
  };
  const whole = { embed_tokens: [config.vocab_size, hidden], norm: [hidden] };
  await write(target, config, whole, {
    input_layernorm: [hidden],
    'self_attn.q_proj': [hidden, hidden],
    'self_attn.k_proj': [hidden / 2, hidden],
    'self_attn.v_proj': [hidden / 2, hidden],
    'self_attn.o_proj': [hidden, hidden],
    post_attention_layernorm: [hidden],
    'mlp.gate_proj': [inner, hidden],
    'mlp.up_proj': [inner, hidden],
    'mlp.down_proj': [hidden, inner],
  });
}

/**
 * Writes a Gemma 4 model with inputs of each layer, of 28 tokens and two layers of width 32, in
 * Q8_0.
 */
export async function writeGemma4File(target: string): Promise<void> {
  const config = {
    ...common,
    model_type: 'gemma4_text',
    hidden_size: hidden,
    intermediate_size: inner,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    global_head_dim: hidden,
    hidden_size_per_layer_input: hidden,
    vocab_size_per_layer_input: common.vocab_size,
    layer_types: Array.from({ length: layers }, () => 'full_attention'),
  };
  const norms = ['input', 'post_attention', 'pre_feedforward', 'post_feedforward'];
  const whole = {
    embed_tokens: [config.vocab_size, hidden],
    embed_tokens_per_layer: [config.vocab_size, layers * hidden],
    per_layer_model_projection: [layers * hidden, hidden],
    per_layer_projection_norm: [hidden],
    norm: [hidden],
  };
  await write(target, config, whole, {
    ...Object.fromEntries(norms.map((name) => [`${name}_layernorm`, [hidden]])),
    post_per_layer_input_norm: [hidden],
    ...Object.fromEntries(
      ['q', 'k', 'v', 'o'].map((name) => [`self_attn.${name}_proj`, [hidden, hidden]]),
    ),
    'self_attn.q_norm': [hidden],
    'self_attn.k_norm': [hidden],
    'mlp.gate_proj': [inner, hidden],
    'mlp.up_proj': [inner, hidden],
    'mlp.down_proj': [hidden, inner],
    per_layer_input_gate: [hidden, hidden],
    per_layer_projection: [hidden, hidden],
    layer_scalar: [1],
  });
}

async function write(
  target: string,
  config: Readonly<Record<string, unknown>>,
  whole: Shapes,
  inLayer: Shapes,
): Promise<void> {
  const named = (
    prefix: string,
    parts: Shapes,
  ): readonly (readonly [string, readonly number[]])[] =>
    Object.entries(parts).map(([part, shape]) => {
      const kind = part === 'layer_scalar' ? '' : '.weight';
      return [`${prefix}${part}${kind}`, shape];
    });
  const inLayers = Array.from({ length: layers }, (_, layer) =>
    named(`model.layers.${layer}.`, inLayer),
  );
  const shapes = new Map([...named('model.', whole), ...inLayers.flat()]);
  await saveGgufModel({
    config,
    tokenizer: buildCharTokenizer({ characters, eosToken: '<|end|>' }),
    weights: {
      tensors: new Map([...shapes].map(([name, shape]) => [name, { shape }])),
      read: (name) =>
        Promise.resolve(
          new Float32Array((shapes.get(name) ?? []).reduce((size, n) => size * n, 1)).fill(0.5),
        ),
    },
    target,
  });
}
