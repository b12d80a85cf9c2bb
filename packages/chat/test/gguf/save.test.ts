/** Models and adapters as GGUF files, and settings that GGUF cannot express. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openGguf } from '../../src/gguf/file/gguf-file.js';
import { openGgufModel } from '../../src/gguf/gguf-model.js';
import { readSavedConfig } from '../../src/gguf/save/config.js';
import { saveGgufAdapter } from '../../src/gguf/save/save-adapter.js';
import {
  saveGgufModel,
  type SaveGgufModelOptions,
  type WeightSource,
} from '../../src/gguf/save/save-model.js';
import { preTokenizers } from '../../src/gguf/tokenizer/pre-tokenizers.js';
import { buildCharTokenizer } from '../../src/tokenizer/char-tokenizer.js';
import type { TokenizerFiles } from '../../src/tokenizer/files.js';
import { createTokenizer } from '../../src/tokenizer/tokenizer.js';
import { llamaShapes, randomWeights, smallConfig } from './support/small-model.js';
import { bytePairs, sentencePieces } from './support/tokenizers.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-gguf-save-'));
const target = path.join(folder, 'model.gguf');
beforeEach(() => rmSync(target, { force: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Json = Readonly<Record<string, unknown>>;

const characters =
  Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('') + '\n';
const plain = buildCharTokenizer({ characters, eosToken: '<|end|>' });
const sizes = { ...smallConfig, vocab_size: 98 };

const saveTiny = (change: Json = {}, rest: Partial<SaveGgufModelOptions> = {}) =>
  saveGgufModel({
    config: { ...sizes, ...change },
    tokenizer: plain,
    weights: randomWeights(llamaShapes(sizes)),
    target,
    type: 'F32',
    ...rest,
  });

function metadataOf(file: string): Json {
  const opened = openGguf(file);
  opened.close();
  return Object.fromEntries(opened.metadata);
}

describe('a model that is written', () => {
  const tokenizer: TokenizerFiles = {
    ...bytePairs(preTokenizers.get('qwen2')!),
    generationConfig: { eos_token_id: [7, 5] },
    chatTemplate: '{{ messages }}',
  };
  const config = { ...smallConfig, vocab_size: createTokenizer(tokenizer).vocabularySize + 2 };
  const shapes = llamaShapes(config);

  it('is read as the model that it was written from, to the bit', async () => {
    const weights = randomWeights(shapes);
    const saved = await saveGgufModel({ config, tokenizer, weights, target, type: 'F32' });
    expect(saved.tensors).toEqual({ F32: shapes.size });
    const model = openGgufModel(target);
    expect([...model.tensors.keys()].toSorted()).toEqual([...shapes.keys()].toSorted());
    for (const [name, { shape, read }] of model.tensors) {
      const into = new Float32Array(shape.reduce((product, n) => product * n, 1));
      read(into);
      expect({ name, into }).toEqual({ name, into: await weights.read(name) });
      const width = shape.at(-1) ?? 1;
      const second = into.slice(width, 2 * width);
      const part = new Float32Array(second.length);
      read(part, width);
      expect({ name, part }).toEqual({ name, part: second });
    }
    expect(JSON.parse(model.text('config.json')!)).toMatchObject(config);
    const { pre_tokenizer, normalizer, model: pairs } = tokenizer.tokenizer as Record<string, Json>;
    expect(JSON.parse(model.text('tokenizer.json')!)).toMatchObject({
      pre_tokenizer,
      normalizer,
      model: { merges: (pairs!['merges'] as string[][]).map((pair) => pair.join(' ')) },
      added_tokens: tokenizer.tokenizer['added_tokens'],
    });
    expect(model.text('chat_template.jinja')).toBe('{{ messages }}');
    model.close();
  });

  it.each([
    ['every factor', 500_000, 8, 8],
    ['a slowest frequency that is divided by less than the factor', 20, 3, 3],
    ['no frequency that is divided', 2, 8, 1],
  ] as const)(
    'has the rotary frequencies of Llama 3, with %s',
    async (_what, rope_theta, factor, found) => {
      const scaled = {
        rope_type: 'llama3',
        factor,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 96,
      };
      await saveTiny({ rope_theta, rope_scaling: scaled });
      const model = openGgufModel(target);
      const { rope_scaling: read } = JSON.parse(model.text('config.json')!) as Json;
      model.close();
      // The divisors are float32.
      expect(read).toEqual({ ...scaled, factor: expect.closeTo(found, 4) as number });
    },
  );

  it('is read in parts, except for tensors whose rows are reordered', async () => {
    const weights = randomWeights(shapes);
    await saveGgufModel({ config, tokenizer, weights, target, type: 'Q8_0' });
    const whole = readFileSync(target);
    const read: string[] = [];
    const inParts: WeightSource = {
      ...weights,
      read: (name) => (read.push(name), weights.read(name)),
      readParts: async function* (name) {
        const numbers = await weights.read(name);
        const length = 3 * (shapes.get(name)?.[1] ?? 1);
        const part = new Float32Array(length);
        for (let at = 0; at < numbers.length; at += length) {
          const rest = numbers.subarray(at, at + length);
          part.set(rest);
          yield part.subarray(0, rest.length);
        }
      },
    };
    await saveGgufModel({ config, tokenizer, weights: inParts, target, type: 'Q8_0' });
    expect(readFileSync(target)).toEqual(whole);
    const reordered = [...shapes.keys()].filter((name) => /[qk]_proj/.test(name));
    expect(read.toSorted()).toEqual(reordered.toSorted());
  });

  it('says what it is', async () => {
    await saveGgufModel({
      config,
      tokenizer,
      weights: randomWeights(shapes),
      target,
      name: 'Tiny',
      license: 'apache-2.0',
      baseModel: { name: 'Base', organization: 'Maker', url: 'https://example.org/base' },
    });
    expect(metadataOf(target)).toMatchObject({
      'general.architecture': 'llama',
      'general.type': 'model',
      'general.name': 'Tiny',
      'general.license': 'apache-2.0',
      'general.base_model.count': 1,
      'general.base_model.0.name': 'Base',
      'general.base_model.0.organization': 'Maker',
      'general.base_model.0.repo_url': 'https://example.org/base',
      'general.file_type': 7,
      'general.quantization_version': 2,
      'llama.vocab_size': config.vocab_size,
      'llama.rope.dimension_count': 8,
      'tokenizer.ggml.pre': 'qwen2',
      'tokenizer.ggml.add_bos_token': false,
      'tokenizer.ggml.add_eos_token': false,
      'tokenizer.ggml.eot_token_id': 7,
      'tokenizer.ggml.eom_token_id': 5,
      'tokenizer.ggml.eos_token_ids': [657, 7, 5],
      'tokenizer.chat_template': '{{ messages }}',
    });
  });

  it('names rows without a token, and kinds of tokens', async () => {
    await saveGgufModel({ config, tokenizer, weights: randomWeights(shapes), target });
    const { 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': kinds } =
      metadataOf(target);
    const last = (tokens as readonly string[]).slice(-5);
    const size = config.vocab_size;
    expect(last).toEqual([
      '<|im_start|>',
      '<|im_end|>',
      '<tool_call>',
      `[PAD${size - 2}]`,
      `[PAD${size - 1}]`,
    ]);
    expect((kinds as readonly number[]).slice(-6)).toEqual([1, 3, 3, 4, 5, 5]);
  });

  it('has templates by their names', async () => {
    const { chatTemplate: _none, ...files } = tokenizer;
    const chat_template = [
      { name: 'default', template: 'main' },
      { name: 'tool_use', template: 'tools' },
    ];
    const named = { ...files, tokenizerConfig: { ...files.tokenizerConfig, chat_template } };
    await saveGgufModel({ config, tokenizer: named, weights: randomWeights(shapes), target });
    const model = openGgufModel(target);
    expect(JSON.parse(model.text('tokenizer_config.json')!)).toMatchObject({ chat_template });
    model.close();
  });

  it('adds the tokens that the tokenizer adds', async () => {
    const single = [{ SpecialToken: { id: '<|im_start|>' } }, { Sequence: { id: 'A' } }];
    const post_processor = {
      type: 'Sequence',
      processors: [{ type: 'ByteLevel' }, { type: 'TemplateProcessing', single }],
    };
    const adding = { ...tokenizer, tokenizer: { ...tokenizer.tokenizer, post_processor } };
    await saveGgufModel({ config, tokenizer: adding, weights: randomWeights(shapes), target });
    expect(metadataOf(target)).toMatchObject({
      'tokenizer.ggml.add_bos_token': true,
      'tokenizer.ggml.add_eos_token': false,
    });
  });

  it('turns merges into scores that give the same merges', async () => {
    const pieces = sentencePieces('no space before a text');
    const own = { ...smallConfig, vocab_size: createTokenizer(pieces).vocabularySize };
    const weights = randomWeights(llamaShapes(own));
    const { notes } = await saveGgufModel({ config: own, tokenizer: pieces, weights, target });
    expect(notes).toEqual([]);
    const model = openGgufModel(target);
    const { model: read } = JSON.parse(model.text('tokenizer.json')!) as { model: Json };
    model.close();
    const { merges } = pieces.tokenizer['model'] as { merges: string[][] };
    expect(read['merges']).toEqual(merges);
  });

  it('says which ids may differ in llama.cpp', async () => {
    const pieces = sentencePieces('no space before a text');
    const { merges } = pieces.tokenizer['model'] as { merges: string[][] };
    const fewer = { ...(pieces.tokenizer['model'] as Json), merges: merges.slice(1) };
    const own = { ...smallConfig, vocab_size: createTokenizer(pieces).vocabularySize - 1 };
    const { notes } = await saveGgufModel({
      config: own,
      tokenizer: { ...pieces, tokenizer: { ...pieces.tokenizer, model: fewer } },
      weights: randomWeights(llamaShapes(own)),
      target,
    });
    expect(notes).toEqual([
      expect.stringMatching(/1 of \d+ pairs are not merged/),
      expect.stringContaining('1 token has no row'),
    ]);
  });
});

describe('formats of the tensors', () => {
  const wide = { ...sizes, hidden_size: 256, intermediate_size: 512, num_hidden_layers: 8 };
  const typesOf = (file: string): Readonly<Record<string, string>> => {
    const opened = openGguf(file);
    opened.close();
    return Object.fromEntries([...opened.tensors].map(([name, { type }]) => [name, type]));
  };
  const save = (config: typeof wide, type: SaveGgufModelOptions['type']) =>
    saveGgufModel({
      config,
      tokenizer: plain,
      weights: randomWeights(llamaShapes(config)),
      target,
      ...(type && { type }),
    });

  it('are 8 bits by default, and float32 for vectors', async () => {
    const saved = await save(wide, undefined);
    expect(saved.tensors).toEqual({ Q8_0: 1 + 8 * 7, F32: 1 + 8 * 2 });
    expect(typesOf(target)).toMatchObject({
      'blk.0.attn_norm.weight': 'F32',
      'token_embd.weight': 'Q8_0',
    });
  });

  it('are mixed for Q4_K_M', async () => {
    await save(wide, 'Q4_K_M');
    const types = typesOf(target);
    const downs = Array.from({ length: 8 }, (_, layer) => types[`blk.${layer}.ffn_down.weight`]);
    // Layers with more bits: the first and the last eighth, and every third of the others.
    expect(downs.map((type) => type === 'Q6_K')).toEqual([
      true,
      false,
      false,
      true,
      false,
      false,
      true,
      true,
    ]);
    expect(types).toMatchObject({
      'token_embd.weight': 'Q6_K',
      'blk.1.attn_v.weight': 'Q4_K',
      'blk.3.attn_v.weight': 'Q6_K',
      'blk.3.attn_q.weight': 'Q4_K',
    });
    expect(metadataOf(target)).toMatchObject({ 'general.file_type': 15 });
  });

  it('are others where rows are not made of whole blocks, and the result says so', async () => {
    const narrow = { ...wide, hidden_size: 96, intermediate_size: 200, num_hidden_layers: 1 };
    const saved = await save(narrow, 'Q4_K_M');
    expect(saved.tensors).toEqual({ Q8_0: 7, F16: 1, F32: 3 });
    expect(typesOf(target)).toMatchObject({
      'blk.0.attn_q.weight': 'Q8_0',
      'blk.0.ffn_down.weight': 'F16',
    });
    const [first] = saved.notes;
    expect(first).toMatch(/of 11 tensors are written as Q8_0 instead of Q\d_K, because their rows/);
  });
});

describe('a model is refused by name when llama.cpp would compute something else:', () => {
  const gemma = {
    model_type: 'gemma2',
    hidden_activation: 'gelu_pytorch_tanh',
    head_dim: 8,
    query_pre_attn_scalar: 8,
  };
  const moe = { model_type: 'qwen3_moe', norm_topk_prob: true };
  const gemma4 = { model_type: 'gemma4_text', hidden_size_per_layer_input: 0 };
  const inputs = { ...gemma4, hidden_size_per_layer_input: 4, vocab_size_per_layer_input: 99 };
  const base = { rope_theta: 100 };
  const scaled = { rope_type: 'proportional', factor: 2 };

  it.each<readonly [Json, string]>([
    [{ model_type: 'mamba' }, 'model_type is "mamba"; expected one of llama, mistral'],
    [{ hidden_act: 'gelu' }, 'hidden_act is "gelu"; expected silu or swish'],
    [
      { model_type: 'mistral', sliding_window: 64 },
      'sliding_window is 64; expected null, or at least max_position_embeddings (128)',
    ],
    [{ model_type: 'qwen2', use_sliding_window: true, sliding_window: 64 }, 'sliding_window is 64'],
    [{ model_type: 'phi3', sliding_window: 64 }, 'sliding_window is 64'],
    [
      { rope_scaling: { rope_type: 'dynamic', factor: 2 } },
      'rope_type is "dynamic"; expected default, linear, yarn, llama3',
    ],
    [
      { model_type: 'qwen3', rope_parameters: { rope_type: 'llama3' } },
      'rope_type is "llama3"; expected default, linear, yarn',
    ],
    [{ rope_scaling: { rope_type: 'yarn', factor: 2, truncate: false } }, 'truncate is false'],
    [{ rope_scaling: { rope_type: 'linear' } }, 'factor is missing; expected a number above 0'],
    [{ partial_rotary_factor: 0.5 }, 'partial_rotary_factor is 0.5'],
    [{ ...gemma, query_pre_attn_scalar: 9 }, 'query_pre_attn_scalar is 9; expected 8'],
    [
      { ...gemma, hidden_activation: 'gelu' },
      'hidden_activation is "gelu"; expected gelu_pytorch_tanh',
    ],
    [
      { ...gemma, attn_logit_softcapping: null },
      'attn_logit_softcapping is null; expected a number',
    ],
    [
      { ...gemma, layer_types: ['full_attention', 'sliding_attention'] },
      'layer_types is ["full_attention","sliding_attention"]',
    ],
    [
      { model_type: 'smollm3', no_rope_layers: [1, 0] },
      'no_rope_layers is [1,0]; expected every fourth layer',
    ],
    [{ model_type: 'smollm3', no_rope_layer_interval: 2 }, 'no_rope_layer_interval is 2'],
    [{ ...gemma4, attention_k_eq_v: true }, 'attention_k_eq_v is true; expected false'],
    [{ ...gemma4, enable_moe_block: true }, 'enable_moe_block is true; expected false'],
    [{ ...gemma4, num_global_key_value_heads: 1 }, 'num_global_key_value_heads is 1; expected 2'],
    [{ ...gemma4, per_layer_config: { 1: { num_key_value_heads: 1 } } }, 'expected one head_dim'],
    [
      {
        ...gemma4,
        layer_types: ['sliding_attention', 'full_attention'],
        num_kv_shared_layers: 1,
      },
      'expected full_attention in the last layer with its own keys, as in layer 1, which uses them',
    ],
    [inputs, 'vocab_size_per_layer_input is 99; expected vocab_size (98)'],
    [{ ...gemma4, rope_parameters: { full_attention: {} } }, 'expected proportional'],
    [{ ...gemma4, rope_parameters: { full_attention: scaled } }, 'factor is 2; expected 1'],
    [
      {
        model_type: 'olmo3',
        rope_theta: 10_000,
        rope_parameters: { full_attention: {}, sliding_attention: base },
      },
      'sliding_attention.rope_theta is 100; expected 10000, as in other layers',
    ],
    [
      { model_type: 'olmo3', layer_types: ['sliding_attention', 'full_attention'] },
      'expected full_attention at every 4-th layer and only there',
    ],
    [{ ...moe, mlp_only_layers: [0] }, 'mlp_only_layers is [0]; expected an empty list'],
    [{ ...moe, decoder_sparse_step: 2 }, 'decoder_sparse_step is 2; expected 1'],
    [{ ...moe, norm_topk_prob: false }, 'norm_topk_prob is false; expected true'],
    [{ model_type: 'qwen3', attention_bias: true }, 'attention_bias is true; expected false'],
    [{ model_type: 'smollm3', mlp_bias: true }, 'mlp_bias is true; expected false'],
    [
      { model_type: 'olmo2', head_dim: 16 },
      'head_dim is 16; expected hidden_size / num_attention_heads (8)',
    ],
    [{ quantization_config: { bits: 4 } }, 'quantization_config is {"bits":4}; expected none'],
    [{ hidden_size: 'wide' }, 'hidden_size is "wide"; expected a number above 0'],
  ])('%j', async (change, message) => {
    const saving = saveTiny(change);
    await expect(saving).rejects.toBeInstanceOf(CheckpointError);
    await expect(saving).rejects.toThrow('config.json: ');
    await expect(saving).rejects.toThrow(message);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('a missing key has the value that transformers assumes for the family', () => {
    const config = readSavedConfig({ ...sizes, model_type: 'olmo2', rms_norm_eps: undefined });
    expect(config.json['rms_norm_eps']).toBe(1e-5);
  });

  it('a window that holds the whole context is none', async () => {
    await saveTiny({ model_type: 'mistral', sliding_window: 128 });
    expect(readdirSync(folder)).toEqual(['model.gguf']);
  });

  it.each<readonly [string, (shapes: Map<string, readonly number[]>) => void, string]>([
    [
      'a tensor too many',
      (shapes) => shapes.set('model.layers.0.mlp.bias', [4]),
      'the weights: model.layers.0.mlp.bias is "a tensor of shape [4]"',
    ],
    [
      'a layer too many',
      (shapes) => shapes.set('model.layers.2.mlp.up_proj.weight', [64, 32]),
      'model.layers.2.mlp.up_proj.weight',
    ],
    [
      'a missing tensor',
      (shapes) => shapes.delete('model.layers.1.self_attn.v_proj.weight'),
      'the weights: blk.1.attn_v.weight is missing',
    ],
    [
      'other embeddings',
      (shapes) => shapes.set('model.embed_tokens.weight', [97, 32]),
      'expected vocab_size of config.json (98)',
    ],
  ])('%s', async (_what, edit, message) => {
    const shapes = new Map(llamaShapes(sizes));
    edit(shapes);
    await expect(saveTiny({}, { weights: randomWeights(shapes) })).rejects.toThrow(message);
  });
});

describe('a tokenizer is refused by name when llama.cpp has no counterpart:', () => {
  const pairs = bytePairs(preTokenizers.get('gpt-2')!);
  const pieces = sentencePieces('no space before a text');
  const model = (files: TokenizerFiles): Json => files.tokenizer['model'] as Json;
  const { '<0x0A>': _byte, ...withoutByte } = model(pieces)['vocab'] as Record<string, number>;

  it.each<readonly [string, TokenizerFiles, Json, string]>([
    [
      'a way of splitting',
      pairs,
      { pre_tokenizer: { type: 'Whitespace' } },
      'tokenizer.json: pre_tokenizer is {"type":"Whitespace"}; expected that of one of gpt-2, phi-2, smollm',
    ],
    [
      'a changed text',
      pairs,
      { normalizer: { type: 'Lowercase' } },
      'normalizer is {"type":"Lowercase"}; expected null or NFC',
    ],
    [
      'another model',
      pairs,
      { model: { type: 'Unigram' } },
      'model.type is "Unigram"; expected BPE',
    ],
    [
      'no token for a byte',
      pieces,
      { model: { ...model(pieces), vocab: withoutByte } },
      'model.vocab is "without <0x0A>"',
    ],
    [
      'a normalizer of pieces',
      pieces,
      { normalizer: { type: 'NFKC' } },
      'normalizer is {"type":"NFKC"}',
    ],
    [
      'pieces that are split',
      pieces,
      { pre_tokenizer: { type: 'Metaspace', split: true } },
      'pre_tokenizer.split is true',
    ],
    [
      'pieces that are split by default',
      pieces,
      { pre_tokenizer: { type: 'Metaspace' } },
      'pre_tokenizer.split is missing; expected false',
    ],
    [
      'words between spaces',
      plain,
      { pre_tokenizer: { type: 'WhitespaceSplit' } },
      'one that splits into words and characters',
    ],
    [
      'one text of two ids',
      plain,
      { added_tokens: [{ id: 97, content: 'a', special: false }] },
      'expected one id for each token',
    ],
  ])('%s', async (_what, files, change, message) => {
    const tokenizer = { ...files, tokenizer: { ...files.tokenizer, ...change } };
    await expect(saveTiny({}, { tokenizer })).rejects.toThrow(message);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('the tokens that a model of Phi-3 needs are missing', async () => {
    const message = 'added_tokens is "without </s>"; expected </s>, <unk>, <s>, <|endoftext|>';
    await expect(saveTiny({ model_type: 'phi3', sliding_window: null })).rejects.toThrow(message);
    await expect(saveTiny({}, { name: 'my-phi-3' })).rejects.toThrow(
      /without <\/s>.*Give the model another name/,
    );
  });
});

describe('an adapter', () => {
  const adapter = { peft_type: 'LORA', r: 4, lora_alpha: 6, bias: 'none' };
  const name = (module: string, letter: 'A' | 'B') =>
    `base_model.model.${module}.lora_${letter}.weight`;
  const q = 'model.layers.0.self_attn.q_proj';
  const shapes = new Map([
    [name(q, 'A'), [4, 32]],
    [name(q, 'B'), [32, 4]],
  ]);
  const save = (change: Json = {}, tensors: ReadonlyMap<string, readonly number[]> = shapes) =>
    saveGgufAdapter({
      adapter: { ...adapter, ...change },
      config: sizes,
      weights: randomWeights(tensors),
      target,
    });

  it('has the matrices under the names of the file of its model', async () => {
    const saved = await save();
    expect(saved.tensors).toEqual({ F32: 2 });
    const file = openGguf(target);
    file.close();
    expect(Object.fromEntries(file.metadata)).toMatchObject({
      'general.type': 'adapter',
      'general.architecture': 'llama',
      'adapter.type': 'lora',
      'adapter.lora.alpha': 6,
    });
    expect([...file.tensors.values()].map(({ name: each, shape }) => [each, shape])).toEqual([
      ['blk.0.attn_q.weight.lora_a', [4, 32]],
      ['blk.0.attn_q.weight.lora_b', [32, 4]],
    ]);
  });

  it('that is rank-stabilised has alpha times the root of the rank', async () => {
    await save({ use_rslora: true });
    expect(metadataOf(target)).toMatchObject({ 'adapter.lora.alpha': 12 });
  });

  it.each<readonly [Json, string]>([
    [{ rank_pattern: { q_proj: 8 } }, 'rank_pattern is {"q_proj":8}; expected none'],
    [{ alpha_pattern: { q_proj: 8 } }, 'alpha_pattern is'],
    [{ modules_to_save: ['lm_head'] }, 'modules_to_save is ["lm_head"]'],
    [{ use_dora: true }, 'use_dora is true; expected false'],
    [{ bias: 'all' }, 'bias is "all"; expected "none"'],
    [{ peft_type: 'IA3' }, 'peft_type is "IA3"; expected "LORA"'],
    [{ use_bdlora: true }, 'use_bdlora is true; expected none'],
    [{ alora_invocation_tokens: [5, 6] }, 'alora_invocation_tokens is [5,6]; expected none'],
    [{ init_lora_weights: 'pissa_niter_4' }, 'init_lora_weights is "pissa_niter_4"; expected true'],
    [{ r: 0 }, 'r is 0; expected a number above 0'],
  ])('is refused by name: %j', async (change, message) => {
    await expect(save(change)).rejects.toThrow(`adapter_config.json: ${message}`);
    await expect(save(change)).rejects.toThrow('merge the adapter into its model');
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each<readonly [string, Readonly<Record<string, readonly number[]>>, string]>([
    ['embeddings', { [name('model.embed_tokens', 'A')]: [4, 98] }, 'model.embed_tokens.lora_A'],
    ['a head that is tied', { [name('lm_head', 'A')]: [4, 32] }, 'lm_head.lora_A'],
    ['one matrix of two', { [name(q, 'A')]: [4, 32] }, 'blk.0.attn_q.weight.lora_b is missing'],
    ['nothing', {}, 'tensors is missing'],
  ])('of %s is refused', async (_what, tensors, message) => {
    await expect(save({}, new Map(Object.entries(tensors)))).rejects.toThrow(message);
  });
});

describe('experts of a layer', () => {
  const config = {
    ...sizes,
    model_type: 'qwen3_moe',
    head_dim: 8,
    num_experts: 2,
    num_experts_per_tok: 1,
    moe_intermediate_size: 16,
    norm_topk_prob: true,
  };
  const shapes = (): Map<string, readonly number[]> => {
    const plainShapes = [...llamaShapes(sizes)].filter(([name]) => !name.includes('.mlp.'));
    const layers = [0, 1].flatMap((layer): [string, readonly number[]][] => {
      const prefix = `model.layers.${layer}.`;
      const units = [0, 1].flatMap((expert): [string, readonly number[]][] => [
        [`${prefix}mlp.experts.${expert}.gate_proj.weight`, [16, 32]],
        [`${prefix}mlp.experts.${expert}.up_proj.weight`, [16, 32]],
        [`${prefix}mlp.experts.${expert}.down_proj.weight`, [32, 16]],
      ]);
      const others: [string, readonly number[]][] = [
        [`${prefix}mlp.gate.weight`, [2, 32]],
        [`${prefix}self_attn.q_norm.weight`, [8]],
        [`${prefix}self_attn.k_norm.weight`, [8]],
      ];
      return [...units, ...others];
    });
    return new Map([...plainShapes, ...layers]);
  };
  const save = (tensors: ReadonlyMap<string, readonly number[]>) =>
    saveTiny(config, { weights: randomWeights(tensors), type: 'Q8_0' });

  it('are one tensor, and the router keeps all its bits', async () => {
    await save(shapes());
    const file = openGguf(target);
    file.close();
    expect(file.tensors.get('blk.1.ffn_up_exps.weight')).toMatchObject({
      shape: [2, 16, 32],
      type: 'Q8_0',
    });
    // Rows of 16 numbers do not consist of whole blocks.
    expect(file.tensors.get('blk.1.ffn_down_exps.weight')).toMatchObject({
      shape: [2, 32, 16],
      type: 'F16',
    });
    expect(file.tensors.get('blk.0.ffn_gate_inp.weight')).toMatchObject({ type: 'F32' });
  });

  it.each<readonly [string, (all: Map<string, readonly number[]>) => void, string]>([
    [
      'missing',
      (all) => all.delete('model.layers.1.mlp.experts.1.up_proj.weight'),
      'model.layers.1.mlp.experts.1.up_proj.weight is missing',
    ],
    [
      'one too many',
      (all) => all.set('model.layers.1.mlp.experts.2.up_proj.weight', [16, 32]),
      'experts.2.up_proj.weight is "a tensor of shape [16, 32]"',
    ],
    [
      'of another shape',
      (all) => all.set('model.layers.1.mlp.experts.1.up_proj.weight', [8, 32]),
      'experts.1.up_proj.weight is "a tensor of shape [8, 32]"',
    ],
  ])('are refused when one is %s', async (_what, edit, message) => {
    const all = shapes();
    edit(all);
    await expect(save(all)).rejects.toThrow(message);
  });
});
