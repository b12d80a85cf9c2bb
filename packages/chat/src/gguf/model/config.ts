import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import { architectureOf, ggufArchitectures, type GgufArchitecture } from './architecture.js';
import { describe, feedForwardLengths, type Keys } from './keys.js';
import { ownKeys } from './own-keys.js';
import { ropeScaling } from './rope.js';

const rotatedInPart: ReadonlySet<GgufArchitecture> = new Set(['phi3', 'qwen35']);

/**
 * Returns the content of the `config.json` that transformers would write for the model of a GGUF
 * file.
 * @throws CheckpointError that names the key that is missing or not supported
 */
export function hfConfig(file: GgufFile): Readonly<Record<string, unknown>> {
  const architecture = architectureOf(file);
  const { modelType, className } = ggufArchitectures[architecture];
  const model = describe(file);
  const { keys, heads, headDim, hiddenSize, rotated } = model;
  if (architecture !== 'qwen3moe') refuseExperts(file, keys);
  if (rotated !== headDim && !rotatedInPart.has(architecture))
    throw unsupported(
      file.path,
      keys.own('rope.dimension_count'),
      `${keys.own('rope.dimension_count')} is ${rotated}; expected the width of a head, ${headDim}, because only heads of Phi-3 and Qwen3.5 can be rotated in part.`,
    );
  const theta = keys.number(keys.own('rope.freq_base')) ?? 10_000;
  const scaling = ropeScaling(file, keys, { theta, headDim: rotated });
  return {
    architectures: [className],
    model_type: modelType,
    vocab_size: model.vocabularySize,
    hidden_size: hiddenSize,
    intermediate_size: feedForwardLengths(model)[0],
    num_hidden_layers: model.layers,
    num_attention_heads: heads,
    head_dim: headDim,
    hidden_act: 'silu',
    rope_theta: theta,
    rope_scaling: scaling ?? null,
    max_position_embeddings: keys.need(keys.own('context_length')),
    tie_word_embeddings: !file.tensors.has('output.weight'),
    attention_bias: file.tensors.has('blk.0.attn_q.bias'),
    mlp_bias: file.tensors.has('blk.0.ffn_gate.bias'),
    bos_token_id: keys.number('tokenizer.ggml.bos_token_id'),
    eos_token_id: keys.number('tokenizer.ggml.eos_token_id'),
    pad_token_id: keys.number('tokenizer.ggml.padding_token_id'),
    dtype: 'float32',
    ...ownKeys[architecture](model, { rope_theta: theta, ...scaling }),
  };
}

function refuseExperts({ path }: GgufFile, keys: Keys): void {
  const experts = keys.number(keys.own('expert_count')) ?? 0;
  if (experts > 0)
    throw unsupported(
      path,
      keys.own('expert_count'),
      `the model has ${experts} experts per layer; expected a model without experts, or a qwen3moe model.`,
    );
}
