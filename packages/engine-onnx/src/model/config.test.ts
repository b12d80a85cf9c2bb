import { CheckpointError } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';

import { parseModelConfig } from './config.js';

const base = {
  model_type: 'qwen3',
  vocab_size: 151_936,
  hidden_size: 1024,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 3072,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
  tie_word_embeddings: true,
  max_position_embeddings: 40_960,
  eos_token_id: 151_645,
};

describe('parseModelConfig', () => {
  it('reads the config of Qwen3-0.6B', () => {
    expect(
      parseModelConfig(
        { ...base, torch_dtype: 'bfloat16', use_sliding_window: false, sliding_window: null },
        'config.json',
      ),
    ).toEqual({
      family: 'qwen3',
      vocabSize: 151_936,
      hiddenSize: 1024,
      layers: 28,
      heads: 16,
      kvHeads: 8,
      headDim: 128,
      intermediateSize: 3072,
      normEpsilon: 1e-6,
      ropeTheta: 1_000_000,
      qkNorm: true,
      qkvBias: false,
      outputBias: false,
      mlpBias: false,
      tieEmbeddings: true,
      maxPositions: 40_960,
      eosTokenIds: [151_645],
    });
  });

  it('reads rope settings in the spelling of transformers 4 and 5', () => {
    const four = { ...base, rope_scaling: { type: 'linear', factor: 4 } };
    const { rope_theta: theta, ...rest } = base;
    const five = {
      ...rest,
      rope_parameters: { rope_type: 'linear', rope_theta: theta, factor: 4 },
    };
    expect(parseModelConfig(five, 'x')).toEqual(parseModelConfig(four, 'x'));
    expect(parseModelConfig(four, 'x').ropeScaling).toEqual({ kind: 'linear', factor: 4 });
  });

  it('gives each family the biases that it has', () => {
    const biases = (extra: object): unknown => {
      const { qkvBias, outputBias, mlpBias } = parseModelConfig({ ...base, ...extra }, 'x');
      return [qkvBias, outputBias, mlpBias];
    };
    expect(biases({ model_type: 'qwen2' })).toEqual([true, false, false]);
    expect(biases({ model_type: 'llama', attention_bias: true, mlp_bias: true })).toEqual([
      true,
      true,
      true,
    ]);
    expect(biases({ model_type: 'qwen3', attention_bias: true, mlp_bias: true })).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.for([
    [{ model_type: 'mamba' }, 'model_type is "mamba"; expected qwen3, qwen2, llama.'],
    [{ vocab_size: undefined }, 'vocab_size is missing'],
    [{ hidden_size: '1024' }, 'hidden_size is "1024"; expected a whole number above 0.'],
    [{ rms_norm_eps: -1 }, 'rms_norm_eps is -1; expected a number above 0.'],
    [{ eos_token_id: 'end' }, 'eos_token_id is "end"; expected a token id or a list of them.'],
    [{ rope_scaling: 8 }, 'rope_scaling is 8; expected a section of settings.'],
    [{ tie_word_embeddings: 1 }, 'tie_word_embeddings is 1; expected true or false.'],
    [
      { num_key_value_heads: 5 },
      'num_key_value_heads is 5; expected a divisor of num_attention_heads (16)',
    ],
    [{ head_dim: 7 }, 'head_dim is 7; expected an even whole number'],
    [{ hidden_act: 'gelu' }, 'hidden_act is "gelu"; expected silu or swish.'],
    [
      { rope_scaling: { rope_type: 'yarn', factor: 4 } },
      'rope_type is "yarn"; expected default, linear or llama3',
    ],
    [{ rope_scaling: { rope_type: 'llama3', factor: 8 } }, 'low_freq_factor is missing'],
    [
      { use_sliding_window: true },
      'use_sliding_window is true; expected false, because sliding windows are not supported',
    ],
    [
      { layer_types: ['full_attention', 'sliding_attention'] },
      'layer_types.1 is "sliding_attention"',
    ],
    [{ quantization_config: { bits: 4 } }, 'quantization_config is {"bits":4}'],
  ] as const)('rejects %j and names the key', ([extra, message]) => {
    const parse = (): unknown => parseModelConfig({ ...base, ...extra }, 'some/config.json');
    expect(parse).toThrow(CheckpointError);
    expect(parse).toThrow(`some/config.json: `);
    expect(parse).toThrow(message);
  });
});
