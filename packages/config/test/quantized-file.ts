/** Writes a small model as a quantised GGUF file. */
import { buildCharTokenizer } from '@trinity-rft/chat';
import { saveGgufModel } from '@trinity-rft/chat/gguf';

const [hidden, inner, layers] = [32, 64, 2];
const characters = 'abcdefghijklmnopqrstuvwxyz';

/** @param target path of the file, in Q8_0 */
export async function writeQuantizedFile(target: string): Promise<void> {
  const config = {
    model_type: 'llama',
    vocab_size: characters.length + 2,
    hidden_size: hidden,
    intermediate_size: inner,
    num_hidden_layers: layers,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    max_position_embeddings: 128,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    tie_word_embeddings: true,
  };
  const inLayer = Object.entries({
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
  const shapes = new Map<string, readonly number[]>([
    ['model.embed_tokens.weight', [config.vocab_size, hidden]],
    ['model.norm.weight', [hidden]],
    ...Array.from({ length: layers }, (_, layer) =>
      inLayer.map(([part, shape]) => [`model.layers.${layer}.${part}.weight`, shape] as const),
    ).flat(),
  ]);
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
