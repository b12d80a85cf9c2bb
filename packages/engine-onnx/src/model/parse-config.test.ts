import { CheckpointError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';

import { cachedLayers, cacheHeads, cacheUnit } from './config.js';
import { parameterCount } from './parameters.js';
import { parseModelConfig } from './parse-config.js';

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

const gemma4 = (extra: object): object => ({
  model_type: 'gemma4_text',
  layer_types: Array.from({ length: 28 }, (_, i) =>
    i % 4 === 3 ? 'full_attention' : 'sliding_attention',
  ),
  ...extra,
});

const small = { ...base, num_hidden_layers: 4 };

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

  it('reads the part of a head that is rotated, in the spelling of transformers 4 and 5', () => {
    const phi = { ...base, model_type: 'phi3' };
    const five = { ...phi, rope_parameters: { partial_rotary_factor: 0.75 } };
    expect(parseModelConfig(five, 'x').rotaryDim).toBe(96);
    expect(parseModelConfig({ ...phi, partial_rotary_factor: 0.75 }, 'x').rotaryDim).toBe(96);
    expect(parseModelConfig({ ...phi, partial_rotary_factor: 1 }, 'x').rotaryDim).toBeUndefined();
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

  it('reads windows: of all layers, of some, of none', () => {
    const windows = (extra: object): unknown =>
      parseModelConfig({ ...small, ...extra }, 'x').layerTraits?.map(({ window }) => window ?? 0);
    expect(windows({ model_type: 'mistral', sliding_window: null })).toBeUndefined();
    expect(windows({ model_type: 'mistral' })).toEqual([4096, 4096, 4096, 4096]);
    expect(windows({ model_type: 'phi3', sliding_window: 40_960 })).toBeUndefined();
    expect(windows({ sliding_window: 8, max_window_layers: 2 })).toBeUndefined();
    const switched = { use_sliding_window: true, sliding_window: 8 };
    expect(windows({ ...switched, max_window_layers: 2 })).toEqual([0, 0, 8, 8]);
    const types = ['sliding_attention', ...Array<string>(3).fill('full_attention')];
    expect(windows({ ...switched, layer_types: types })).toEqual([8, 0, 0, 0]);
    expect(windows({ model_type: 'gemma2' })).toEqual([4096, 0, 4096, 0]);
    expect(windows({ model_type: 'gemma3_text', num_hidden_layers: 7 })).toEqual([
      ...Array<number>(5).fill(4096),
      0,
      4096,
    ]);
  });

  it('is Llama by another name for a Mistral without a window', () => {
    const [mistral, llama] = ['mistral', 'llama'].map((family) =>
      parseModelConfig({ ...small, model_type: family, sliding_window: null }, 'x'),
    );
    expect({ ...mistral, family: 'llama' }).toEqual(llama);
  });

  it('reads which layers are not rotated, or by a table of their own', () => {
    const ropes = (extra: object): unknown =>
      parseModelConfig({ ...small, ...extra }, 'x').layerTraits?.map(({ rope }) => rope ?? '');
    expect(ropes({ model_type: 'smollm3' })).toEqual(['', '', '', 'none']);
    expect(ropes({ model_type: 'smollm3', no_rope_layers: [0, 1, 1, 1] })).toEqual([
      'none',
      '',
      '',
      '',
    ]);
    const gemma = { model_type: 'gemma3_text', sliding_window_pattern: 2, rope_theta: 1e6 };
    expect(ropes(gemma)).toEqual(['local', '', 'local', '']);
    expect(parseModelConfig({ ...small, ...gemma }, 'x').localRope).toEqual({ theta: 10_000 });
  });

  it('scales positions of OLMo 3 only in layers without a window', () => {
    const { rope_theta: _theta, ...rest } = small;
    const scaling = { rope_type: 'linear', factor: 4 };
    expect(
      parseModelConfig({ ...rest, model_type: 'olmo3', rope_scaling: scaling }, 'x'),
    ).toMatchObject({
      ropeTheta: 500_000,
      ropeScaling: { kind: 'linear' },
      localRope: { theta: 500_000, scaling: undefined },
      layerTraits: [
        ...Array<object>(3).fill({ window: 4096, rope: 'local' }),
        { window: undefined },
      ],
    });
  });

  it('reads the settings of layers with windows alone', () => {
    const { rope_theta: _theta, ...rest } = small;
    const rope = { full_attention: null, sliding_attention: { rope_theta: 1e3 } };
    for (const rope_parameters of [rope, { sliding_attention: rope.sliding_attention }])
      expect(
        parseModelConfig(
          { ...rest, model_type: 'gemma3_text', sliding_window_pattern: 2, rope_parameters },
          'x',
        ),
      ).toMatchObject({ ropeTheta: 1e6, localRope: { theta: 1e3 } });
  });

  it.each<[string, object, number, number]>([
    ['the spelling of transformers 4', { rope_theta: 1e4 }, 1e4, 1e4],
    ['one section', { rope_parameters: { rope_theta: 1e4 } }, 1e4, 1e4],
    [
      'a section for each type of layer',
      { rope_parameters: { full_attention: { rope_theta: 1e4 }, sliding_attention: {} } },
      1e4,
      1e4,
    ],
    [
      'sections with two bases',
      {
        rope_parameters: {
          full_attention: { rope_theta: 1e4 },
          sliding_attention: { rope_theta: 1e3 },
        },
      },
      1e4,
      1e3,
    ],
  ])('rotates all layers of OLMo 3 with the base in config.json: %s', (_, rope, theta, local) => {
    const { rope_theta: _theta, ...rest } = small;
    expect(parseModelConfig({ ...rest, model_type: 'olmo3', ...rope }, 'x')).toMatchObject({
      ropeTheta: theta,
      localRope: { theta: local },
    });
  });

  it('reads experts, and the layers without', () => {
    const config = parseModelConfig(
      { ...small, model_type: 'qwen3_moe', mlp_only_layers: [0], decoder_sparse_step: 2 },
      'x',
    );
    expect(config.experts).toEqual({ count: 128, active: 8, size: 768, normalize: false });
    expect(config.layerTraits?.map(({ dense }) => dense ?? false)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it.each([
    ['350M', { hidden_size: 1024, num_attention_heads: 16, block_ff_dim: 6656 }, 4608],
    ['1.2B', { hidden_size: 2048, num_attention_heads: 32, intermediate_size: 12_288 }, 8192],
    ['own', { ...small, block_auto_adjust_ff_dim: false, block_ff_dim: 100 }, 100],
  ])('reads an LFM2 of %s, by both ways to name its convolutions', (_, sizes, intermediateSize) => {
    const shared = { ...sizes, model_type: 'lfm2', vocab_size: 65_536, num_hidden_layers: 4 };
    const types = ['conv', 'conv', 'full_attention', 'conv'];
    const [listed, named] = [{ full_attn_idxs: [2] }, { layer_types: types }].map((layers) =>
      parseModelConfig({ ...shared, ...layers, norm_eps: 1e-5, tie_embedding: false }, 'x'),
    );
    expect(listed).toEqual(named);
    expect(listed?.layerTraits?.map(({ mixer }) => mixer)).toEqual(
      types.map((type) => (type === 'conv' ? 'conv' : undefined)),
    );
    expect(listed).toMatchObject({
      intermediateSize,
      convTaps: 3,
      kvHeads: 8,
      normEpsilon: 1e-5,
      ropeTheta: 1e6,
      qkNorm: true,
      tieEmbeddings: false,
    });
  });

  it('reads Qwen3.5-0.8B, by both ways to name its layers with attention', () => {
    const shared = {
      ...{ model_type: 'qwen3_5_text', vocab_size: 248_320, hidden_size: 1024 },
      ...{ num_hidden_layers: 24, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 256 },
      ...{ intermediate_size: 3584, linear_num_value_heads: 16, tie_word_embeddings: true },
      rope_parameters: {
        ...{ rope_type: 'default', rope_theta: 1e7, partial_rotary_factor: 0.25 },
        ...{ mrope_section: [11, 11, 10], mrope_interleaved: true },
      },
    };
    const types = Array.from({ length: 24 }, (_, i) =>
      i % 4 === 3 ? 'full_attention' : 'linear_attention',
    );
    const listed = parseModelConfig({ ...shared, layer_types: types }, 'x');
    expect(parseModelConfig({ ...shared, full_attention_interval: 4 }, 'x')).toEqual(listed);
    expect(listed.layerTraits?.slice(0, 4).map(({ mixer }) => mixer)).toEqual([
      ...['delta', 'delta', 'delta'],
      undefined,
    ]);
    expect(listed).toMatchObject({
      ...{ rotaryDim: 64, ropeTheta: 1e7, normOffset: 1, qkNorm: true, gatedAttention: true },
      convTaps: 4,
      delta: { keyHeads: 16, keyDim: 128, valueHeads: 16, valueDim: 128 },
    });
  });

  it('reads Gemma 4 E2B, by both ways to name its wider heads', () => {
    const types = Array.from({ length: 35 }, (_, i) =>
      i % 5 === 4 ? 'full_attention' : 'sliding_attention',
    );
    const shared = {
      ...{ model_type: 'gemma4_text', vocab_size: 262_144, hidden_size: 1536 },
      ...{ num_hidden_layers: 35, num_attention_heads: 8, num_key_value_heads: 1 },
      ...{ intermediate_size: 6144, num_kv_shared_layers: 20, use_double_wide_mlp: true },
      ...{ layer_types: types, final_logit_softcapping: 30 },
    };
    const wide = types.flatMap((type, i) =>
      type === 'full_attention' ? [[i, { head_dim: 512 }]] : [],
    );
    const read = parseModelConfig({ ...shared, global_head_dim: 512 }, 'x');
    const named = { ...shared, per_layer_config: Object.fromEntries(wide) as object };
    expect(parseModelConfig(named, 'x')).toEqual(read);
    expect(read).toMatchObject({
      ...{ headDim: 512, kvHeads: 1, attentionScale: 1, logitCap: 30, valueNorm: true },
      ...{ ropeTheta: 1e6, ropeScaling: { kind: 'proportional', part: 0.25 } },
      localRope: { headDim: 256, theta: 1e4 },
      perLayerInputs: { size: 256, vocabSize: 262_144 },
      ...{ embeddingScale: Math.sqrt(1536), activation: 'gelu_tanh', tieEmbeddings: true },
    });
    const local = { window: 512, rope: 'local', headDim: 256 };
    expect(read.layerTraits?.[13]).toEqual(local);
    expect(read.layerTraits?.[14]).toEqual({});
    expect(read.layerTraits?.[15]).toEqual({ ...local, keysOf: 13, intermediateSize: 12_288 });
    expect(read.layerTraits?.[34]).toEqual({ keysOf: 14, intermediateSize: 12_288 });
    expect(cachedLayers(read)).toHaveLength(15);
    // 12 layers with windows and 3 without, keys and values.
    expect(cacheHeads(read) * cacheUnit(read)).toBe(2 * (12 * 256 + 3 * 512));
    expect(parameterCount(read)).toBe(4_628_569_379);
  });

  it('ends sequences of longrope where its frequencies change', () => {
    const long = {
      ...base,
      model_type: 'phi3',
      partial_rotary_factor: 0.75,
      max_position_embeddings: 131_072,
      original_max_position_embeddings: 4_096,
      rope_scaling: { type: 'longrope', short_factor: Array(48).fill(2), long_factor: [] },
    };
    expect(parseModelConfig(long, 'x')).toMatchObject({
      maxPositions: 4_096,
      positionsKey: 'original_max_position_embeddings',
      ropeScaling: { kind: 'longrope', attentionFactor: Math.sqrt(1 + 5 / 12) },
    });
  });

  it('ends sequences of Ministral 3 where its queries begin to grow', () => {
    const { rope_theta: _theta, ...rest } = base;
    const read = (extra: object): unknown =>
      parseModelConfig(
        { ...rest, model_type: 'ministral3', max_position_embeddings: 262_144, ...extra },
        'x',
      );
    expect(read({})).toMatchObject({
      maxPositions: 16_384,
      ropeTheta: 1e6,
      ropeScaling: { kind: 'yarn', factor: 16, attentionFactor: 1 },
    });
    const plain = { rope_type: 'default', rope_theta: 1e4 };
    expect(read({ rope_parameters: plain })).toMatchObject({ maxPositions: 262_144 });
  });

  it('reads the multipliers of Granite, and the sizes of its dense hybrids', () => {
    const multipliers = {
      embedding_multiplier: 12,
      attention_multiplier: 0.015_625,
      residual_multiplier: 0.22,
      logits_scaling: 10,
    };
    const read = (extra: object): unknown =>
      parseModelConfig({ ...small, ...multipliers, ...extra }, 'x');
    const scales = {
      embeddingScale: 12,
      attentionScale: 0.015_625,
      residualScale: 0.22,
      logitScale: 0.1,
    };
    expect(read({ model_type: 'granite' })).toMatchObject({ ...scales, intermediateSize: 3072 });
    const hybrid = {
      model_type: 'granitemoehybrid',
      num_local_experts: 0,
      num_experts_per_tok: 0,
      shared_intermediate_size: 4096,
      layer_types: Array<string>(4).fill('attention'),
    };
    expect(read({ ...hybrid, position_embedding_type: 'rope' })).toMatchObject({
      ...scales,
      fusedFeedForward: true,
      intermediateSize: 4096,
      layerTraits: undefined,
    });
    expect(read(hybrid)).toMatchObject({ layerTraits: Array(4).fill({ rope: 'none' }) });
  });

  it.each(['vision_config', 'audio_config'])('refuses a model that has %s', (key) => {
    const sees = { model_type: 'gemma3', text_config: {}, [key]: {} };
    expect(() => parseModelConfig(sees, 'some/config.json')).toThrow(
      `some/config.json: the model takes more than text (it has ${key}), which no engine supports. ` +
        'Use a model of text alone',
    );
  });

  it.for([
    [{ model_type: 'mamba' }, 'model_type is "mamba"; expected qwen3, qwen2, llama, mistral,'],
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
    [{ hidden_act: 'relu' }, 'hidden_act is "relu"; expected silu, gelu or gelu_pytorch_tanh.'],
    [
      { rope_scaling: { rope_type: 'ntk', factor: 4 } },
      'rope_type is "ntk"; expected one of default, dynamic, linear, llama3, yarn, longrope, proportional',
    ],
    [
      { model_type: 'phi3', rope_scaling: { type: 'yarn', short_factor: [1] } },
      'short_factor is [1]; expected 64 divisors of frequencies',
    ],
    [{ rope_scaling: { rope_type: 'yarn' } }, 'rope_parameters.factor is missing'],
    [{ rope_scaling: { rope_type: 'llama3', factor: 8 } }, 'low_freq_factor is missing'],
    [
      { layer_types: Array<string>(28).fill('sliding_attention') },
      'layer_types.0 is "sliding_attention"; expected full_attention, which follows from',
    ],
    [{ layer_types: ['full_attention'] }, 'expected a list with one entry for each of 28 layers'],
    [{ layer_types: ['chunked_attention'] }, 'layer_types.0 is "chunked_attention"'],
    [
      { partial_rotary_factor: 0.75 },
      'partial_rotary_factor is 0.75; expected 1 (whole-head rotary embeddings)',
    ],
    [
      { model_type: 'phi3', partial_rotary_factor: 0.01 },
      'partial_rotary_factor is 0.01; expected a part of head_dim (128) that is an even whole number',
    ],
    [
      { rope_parameters: { partial_rotary_factor: 2 } },
      'partial_rotary_factor is 2; expected a number above 0, at most 1',
    ],
    [{ rope_parameters: 8 }, 'rope_parameters is 8; expected a section of settings'],
    [
      { rope_parameters: { full_attention: { rope_type: 'linear', factor: -8 } } },
      'rope_parameters.full_attention.factor is -8; expected a number above 0',
    ],
    [
      { rope_parameters: { full_attention: {}, sliding_attention: { rope_theta: 'x' } } },
      'rope_parameters.sliding_attention.rope_theta is "x"; expected a number above 0',
    ],
    [
      { rope_parameters: { full_attention: 8 } },
      'rope_parameters.full_attention is 8; expected a section of settings',
    ],
    [
      { model_type: 'granitemoehybrid', layer_types: ['mamba', 'attention'] },
      'layer_types.0 is "mamba"; expected full_attention in all layers: Mamba-2 layers and experts',
    ],
    [
      { model_type: 'granitemoehybrid' },
      'num_local_experts is 8; expected 0, and full_attention in all layers',
    ],
    [
      { model_type: 'granitemoehybrid', num_local_experts: 0 },
      'layer_types is missing; expected full_attention in all layers',
    ],
    [{ model_type: 'gemma2', use_bidirectional_attention: true }, 'use_bidirectional_attention'],
    [
      { model_type: 'qwen3_moe', num_experts: 4 },
      'num_experts_per_tok is 8; expected at most num_experts (4)',
    ],
    [
      { layer_types: Array<string>(28).fill('conv') },
      'layers with attention, as model_type has them',
    ],
    [
      { layer_types: Array<string>(28).fill('linear_attention') },
      'layers with attention, as model_type has them',
    ],
    [
      { model_type: 'qwen3_5_text', linear_num_key_heads: 5 },
      'linear_num_value_heads is 32; expected a multiple of linear_num_key_heads (5)',
    ],
    [gemma4({ attention_k_eq_v: true }), 'attention_k_eq_v is true; expected false'],
    [gemma4({ enable_moe_block: true }), 'enable_moe_block is true; expected false'],
    [
      gemma4({ num_kv_shared_layers: 28 }),
      'num_kv_shared_layers is 28; expected a number that leaves a layer of each type',
    ],
    [gemma4({ per_layer_config: { 3: { head_dim: 64 } } }), 'expected one head_dim for all layers'],
    [gemma4({ layer_types: Array<string>(28).fill('sliding_attention') }), 'as the last layer'],
    [gemma4({ vocab_size_per_layer_input: 10 }), 'vocab_size_per_layer_input is 10; expected at'],
    [{ model_type: 'lfm2', full_attn_idxs: [] }, 'expected at least one full_attention'],
    [{ model_type: 'lfm2', conv_bias: true }, 'conv_bias is true; expected false'],
    [{ quantization_config: { bits: 4 } }, 'quantization_config is {"bits":4}'],
  ] as const)('rejects %j and names the key', ([extra, message]) => {
    const parse = (): unknown => parseModelConfig({ ...base, ...extra }, 'some/config.json');
    expect(parse).toThrow(CheckpointError);
    expect(parse).toThrow(`some/config.json: `);
    expect(parse).toThrow(message);
  });
});
