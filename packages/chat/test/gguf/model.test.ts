import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openGguf } from '../../src/gguf/file/gguf-file.js';
import { isGguf, openGgufModel, readGgufConfig } from '../../src/gguf/gguf-model.js';
import { tokenizerKeys } from '../../src/gguf/tokenizer/save-tokenizer.js';
import { writeGguf, type GgufContent } from './support/write-gguf.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-gguf-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 1,
  'llama.context_length': 64,
  'llama.embedding_length': 32,
  'llama.feed_forward_length': 48,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 2,
  'llama.attention.layer_norm_rms_epsilon': 1e-5,
  'llama.rope.freq_base': 500_000,
  'tokenizer.ggml.model': 'gpt2',
  'tokenizer.ggml.pre': 'smollm',
  'tokenizer.ggml.tokens': ['<|end|>', 'a', 'b', 'ab', '<tool>'],
  'tokenizer.ggml.token_type': [3, 1, 1, 1, 4],
  'tokenizer.ggml.merges': ['a b'],
  'tokenizer.ggml.eos_token_id': 0,
  'tokenizer.ggml.eot_token_id': 4,
  'tokenizer.chat_template': '{{ messages }}',
};
/** A SentencePiece vocabulary of single bytes. */
const bytes = {
  'tokenizer.ggml.tokens': [
    '<|end|>',
    ...Array.from(
      { length: 256 },
      (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`,
    ),
  ],
  'tokenizer.ggml.token_type': [3, ...Array.from({ length: 256 }, () => 6)],
  'tokenizer.ggml.scores': Array.from({ length: 257 }, () => 0),
};
const tensors = { 'token_embd.weight': [8, 32], 'rope_odd.weight': [2] };

function write(change: GgufContent['metadata'] = {}, rest: Partial<GgufContent> = {}): string {
  const kept = Object.entries({ ...metadata, ...change }).filter(([, value]) => value !== '');
  return writeGguf(path.join(folder, 'model.gguf'), {
    metadata: Object.fromEntries(kept),
    tensors,
    ...rest,
  });
}

function readText(file: string, name: string): string | undefined {
  const model = openGgufModel(file);
  try {
    return model.text(name);
  } finally {
    model.close();
  }
}

const json = (file: string, name: string): Record<string, unknown> =>
  JSON.parse(readText(file, name) ?? '{}') as Record<string, unknown>;

describe('a GGUF file', () => {
  it('gives the config.json of a Hugging Face folder', () => {
    expect(json(write(), 'config.json')).toMatchObject({
      model_type: 'llama',
      vocab_size: 8,
      hidden_size: 32,
      num_hidden_layers: 1,
      num_key_value_heads: 2,
      head_dim: 8,
      rms_norm_eps: 1e-5,
      rope_theta: 500_000,
      max_position_embeddings: 64,
      tie_word_embeddings: true,
      eos_token_id: 0,
    });
  });

  it('of LFM2 says which layers have attention, and names the last norm as Ollama does too', () => {
    const lfm2 = {
      'general.architecture': 'lfm2',
      'tokenizer.ggml.pre': 'lfm2',
      'lfm2.block_count': 3,
      'lfm2.context_length': 64,
      'lfm2.embedding_length': 32,
      'lfm2.feed_forward_length': 48,
      'lfm2.attention.head_count': 4,
      'lfm2.attention.head_count_kv': [0, 2, 0],
      'lfm2.attention.layer_norm_rms_epsilon': 1e-5,
      'lfm2.shortconv.l_cache': 3,
    };
    for (const norm of ['token_embd_norm', 'output_norm']) {
      const taps = { 'blk.0.shortconv.conv.weight': [32, 3] };
      const file = write(lfm2, { tensors: { ...tensors, [`${norm}.weight`]: [32], ...taps } });
      expect(json(file, 'config.json')).toMatchObject({
        model_type: 'lfm2',
        layer_types: ['conv', 'full_attention', 'conv'],
        num_key_value_heads: 2,
        norm_eps: 1e-5,
        conv_L_cache: 3,
        block_auto_adjust_ff_dim: false,
      });
      const model = openGgufModel(file);
      expect(model.tensors.has('model.embedding_norm.weight')).toBe(true);
      expect(model.tensors.get('model.layers.0.conv.conv.weight')?.shape).toEqual([32, 1, 3]);
      model.close();
    }
    const unlisted = write({ ...lfm2, 'lfm2.attention.head_count_kv': '' });
    expect(() => json(unlisted, 'config.json')).toThrow('lfm2.attention.head_count_kv is missing');
  });

  it('of Qwen3.5 leaves out layers for multi-token prediction', () => {
    const qwen35 = {
      'general.architecture': 'qwen35',
      'tokenizer.ggml.pre': 'qwen35',
      'qwen35.block_count': 3,
      'qwen35.nextn_predict_layers': 1,
      'qwen35.context_length': 64,
      'qwen35.embedding_length': 32,
      'qwen35.feed_forward_length': 48,
      'qwen35.attention.head_count': 4,
      'qwen35.attention.head_count_kv': 2,
      'qwen35.attention.key_length': 16,
      'qwen35.attention.layer_norm_rms_epsilon': 1e-6,
      'qwen35.rope.dimension_count': 4,
      'qwen35.full_attention_interval': 2,
      'qwen35.ssm.conv_kernel': 4,
      'qwen35.ssm.state_size': 8,
      'qwen35.ssm.group_count': 2,
      'qwen35.ssm.time_step_rank': 4,
      'qwen35.ssm.inner_size': 32,
    };
    const layers = { 'blk.0.ssm_a': [4], 'blk.0.ssm_dt.bias': [4], 'blk.2.attn_norm.weight': [32] };
    const file = write(qwen35, { tensors: { ...tensors, ...layers } });
    expect(json(file, 'config.json')).toMatchObject({
      model_type: 'qwen3_5_text',
      num_hidden_layers: 2,
      layer_types: ['linear_attention', 'full_attention'],
      partial_rotary_factor: 0.25,
      linear_conv_kernel_dim: 4,
      linear_num_key_heads: 2,
      linear_key_head_dim: 8,
      linear_num_value_heads: 4,
      linear_value_head_dim: 8,
    });
    const model = openGgufModel(file);
    expect([...model.tensors.keys()]).toEqual([
      'model.embed_tokens.weight',
      'rope_odd.weight',
      'model.layers.0.linear_attn.A_log',
      'model.layers.0.linear_attn.dt_bias',
    ]);
    model.close();
    const unsized = write({ ...qwen35, 'qwen35.ssm.state_size': '' });
    expect(() => json(unsized, 'config.json')).toThrow('qwen35.ssm.state_size is missing');
    // Ollama's older files list key heads by layer.
    const listed = write({ ...qwen35, 'qwen35.attention.head_count_kv': [2, 0, 0] });
    expect(json(listed, 'config.json')).toMatchObject({
      num_key_value_heads: 2,
      layer_types: ['full_attention', 'linear_attention'],
    });
  });

  it('of Phi-3 has the context before scaling at the top, where transformers reads it', () => {
    const phi3 = Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [key.replace(/^llama\./, 'phi3.'), value]),
    );
    const file = write(
      {
        ...phi3,
        'general.architecture': 'phi3',
        'phi3.context_length': 1024,
        'phi3.rope.scaling.original_context_length': 512,
      },
      {
        tensors: {
          ...tensors,
          'rope_factors_short.weight': [4],
          'rope_factors_long.weight': [4],
        },
      },
    );
    expect(json(file, 'config.json')).toMatchObject({
      max_position_embeddings: 1024,
      original_max_position_embeddings: 512,
      rope_scaling: { rope_type: 'longrope', original_max_position_embeddings: 512 },
    });
  });

  it('of OLMo 3 differs from one of OLMo 2 by a window', () => {
    const olmo3 = Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [key.replace(/^llama\./, 'olmo2.'), value]),
    );
    const own = { ...olmo3, 'general.architecture': 'olmo2', 'olmo2.block_count': 5 };
    const windowed = { ...own, 'olmo2.attention.sliding_window': 16 };
    const types = (change: object): unknown =>
      json(write({ ...windowed, ...change }), 'config.json')['layer_types'];
    const [full, sliding] = ['full_attention', 'sliding_attention'];
    expect(json(write(own), 'config.json')).toMatchObject({ model_type: 'olmo2' });
    expect(json(write(windowed), 'config.json')).toMatchObject({
      architectures: ['Olmo3ForCausalLM'],
      model_type: 'olmo3',
      sliding_window: 16,
    });
    const yarn = {
      'olmo2.rope.scaling.type': 'yarn',
      'olmo2.rope.scaling.factor': 8,
      'olmo2.rope.scaling.original_context_length': 8192,
    };
    // Early files hold the whole factor, others what llama.cpp multiplies by 0.1 ln 8 + 1.
    for (const stored of [1, 1.207_944_154_167_983_6]) {
      const file = write({ ...windowed, ...yarn, 'olmo2.rope.scaling.attn_factor': stored });
      expect(json(file, 'config.json')['rope_parameters']).toMatchObject({
        full_attention: { rope_type: 'yarn', attention_factor: expect.closeTo(1.207_944, 5) },
      });
    }
    expect(types({})).toEqual([sliding, sliding, sliding, full, sliding]);
    const listed = [false, true, false, false, true];
    expect(types({ 'olmo2.attention.sliding_window_pattern': listed })).toEqual(
      listed.map((slides) => (slides ? sliding : full)),
    );
  });

  it('gives the tokenizer, the template, and all tokens that end an answer', () => {
    const file = write();
    expect(json(file, 'tokenizer.json')).toMatchObject({
      added_tokens: [
        { id: 0, content: '<|end|>', special: true },
        { id: 4, content: '<tool>', special: false },
      ],
      pre_tokenizer: { pretokenizers: [{ type: 'Digits', individual_digits: true }, {}] },
      model: { type: 'BPE', vocab: { ab: 3 }, merges: ['a b'] },
    });
    expect(json(file, 'tokenizer_config.json')).toMatchObject({ eos_token: '<|end|>' });
    expect(json(file, 'generation_config.json')).toMatchObject({ eos_token_id: [0, 4] });
    expect(readText(file, 'chat_template.jinja')).toBe('{{ messages }}');
    expect(readText(file, 'vocab.json')).toBeUndefined();
  });

  it.each([
    [{ 'tokenizer.ggml.pre': 'smollm' }, false],
    [{ 'tokenizer.ggml.pre': 'dbrx' }, false],
    [{ 'tokenizer.ggml.pre': 'llama-bpe' }, true],
    [{ 'tokenizer.ggml.pre': 'lfm2' }, true],
    [{ 'tokenizer.ggml.pre': 'tekken' }, true],
    [{ 'tokenizer.ggml.pre': 'llama3', 'tokenizer.ggml.add_bos_token': false }, false],
    [{ 'tokenizer.ggml.pre': 'qwen2', 'tokenizer.ggml.add_bos_token': true }, true],
    [{ 'tokenizer.ggml.model': 'llama', ...bytes }, true],
    [{ 'tokenizer.ggml.model': 'llama', ...bytes, 'tokenizer.ggml.add_bos_token': false }, false],
  ])('adds the BOS token as llama.cpp does, and so does its copy (%#)', (change, added) => {
    const file = write({ ...change, 'tokenizer.ggml.bos_token_id': 0 });
    const tokenizerConfig = json(file, 'tokenizer_config.json');
    expect(tokenizerConfig).toMatchObject({ add_bos_token: added, bos_token: '<|end|>' });
    const files = { tokenizer: json(file, 'tokenizer.json'), tokenizerConfig };
    expect(tokenizerKeys({ files, config: {}, rows: 300 }).keys).toContainEqual([
      'tokenizer.ggml.add_bos_token',
      { type: 'bool', value: added },
    ]);
  });

  it('has an unknown token if its type says so', () => {
    const model = (file: string): unknown => json(file, 'tokenizer.json')['model'];
    const unknown = { 'tokenizer.ggml.unknown_token_id': 1 };
    const types = { 'tokenizer.ggml.token_type': [3, 2, 1, 1, 4] };
    expect(model(write({ ...unknown, ...types }))).toMatchObject({ unk_token: 'a' });
    expect(model(write(unknown))).toMatchObject({ unk_token: null });
  });

  it('gives several templates by their names', () => {
    const file = write({
      'tokenizer.chat_templates': ['tool_use'],
      'tokenizer.chat_template.tool_use': 'tools',
    });
    expect(readText(file, 'chat_template.jinja')).toBeUndefined();
    expect(json(file, 'tokenizer_config.json')['chat_template']).toEqual([
      { name: 'default', template: '{{ messages }}' },
      { name: 'tool_use', template: 'tools' },
    ]);
  });

  it('turns the scores of a SentencePiece vocabulary into an order of merges', () => {
    const file = write({
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.tokens': ['<unk>', 'a', 'b', 'c', 'ab', 'bc', 'abc'],
      'tokenizer.ggml.token_type': [2, 1, 1, 1, 1, 1, 1],
      'tokenizer.ggml.scores': [0, -1, -2, -3, -5, -4, -6],
    });
    expect(json(file, 'tokenizer.json')['model']).toMatchObject({
      byte_fallback: true,
      unk_token: '<unk>',
      merges: [
        ['b', 'c'],
        ['a', 'b'],
        ['a', 'bc'],
        ['ab', 'c'],
      ],
    });
  });

  it('keeps the name of a tensor that is not known, so that the engine can refuse it', () => {
    const model = openGgufModel(write());
    expect(model.isTextPart).toBe(false);
    expect([...model.tensors.keys()]).toEqual(['model.embed_tokens.weight', 'rope_odd.weight']);
    model.close();
  });
});

describe('a GGUF file that cannot be used is refused by name:', () => {
  it.each<readonly [string, () => string, RegExp]>([
    [
      'an architecture',
      () => write({ 'general.architecture': 'mamba' }),
      /its architecture is mamba; expected one of llama, qwen2, qwen3/,
    ],
    [
      'an encoder of images',
      () => write({ 'general.architecture': 'clip' }),
      /holds the encoder of images or sounds of a model\. Give the model's own file/,
    ],
    ['experts', () => write({ 'llama.expert_count': 8 }), /8 experts per layer/],
    [
      'a part of a file',
      () => write({ 'split.count': 3 }),
      /one of 3 files.*llama-gguf-split --merge/,
    ],
    [
      'a part of a file that is not the first',
      () =>
        writeGguf(path.join(folder, 'model-00002-of-00003.gguf'), {
          metadata: { 'split.no': 1, 'split.count': 3 },
        }),
      /one of 3 files.*llama-gguf-split --merge/,
    ],
    [
      'numbers of heads by layer',
      () => write({ 'llama.attention.head_count': [4, 8] }),
      /: llama\.attention\.head_count is not a number\. Use the Hugging Face folder/,
    ],
    [
      'a missing key',
      () => write({ 'llama.block_count': '' }),
      /key llama\.block_count is missing/,
    ],
    [
      'a wrong kind of value',
      () => write({ 'llama.block_count': 'two' }),
      /llama\.block_count is not a number/,
    ],
    [
      'partly rotated heads',
      () => write({ 'llama.rope.dimension_count': 4 }),
      /rope\.dimension_count is 4; expected the width of a head, 8/,
    ],
    [
      'unknown rotary factors',
      () => write({}, { tensors: { ...tensors, 'rope_freqs.weight': [4] } }),
      /rope_freqs\.weight is not that of Llama 3/,
    ],
    ['no embeddings', () => write({}, { tensors: {} }), /holds no tensor token_embd\.weight/],
    [
      'a number format',
      () => write({}, { type: 20 }),
      /tensor token_embd\.weight is stored as IQ4_NL; expected one of F32, F16, .*Q6_K, BF16/,
    ],
  ])('%s', (_what, make, message) => {
    const file = make();
    expect(() => readGgufConfig(file)).toThrow(message);
    expect(() => readGgufConfig(file)).toThrow(file);
  });

  it.each([
    ['way of splitting text', { 'tokenizer.ggml.pre': 'viking' }, /tokenizer\.ggml\.pre is viking/],
    ['tokenizer', { 'tokenizer.ggml.model': 'rwkv' }, /tokenizer\.ggml\.model is rwkv/],
    ['missing tokenizer', { 'tokenizer.ggml.model': '' }, /it holds no tokenizer/],
  ])('a %s', (_what, change, message) => {
    expect(() => readGgufConfig(write(change))).toThrow(message);
  });

  it('whatever byte it ends at', () => {
    const file = write();
    const whole = readFileSync(file);
    expect(isGguf(file)).toBe(true);
    for (let length = 0; length < whole.length; length += 7) {
      writeFileSync(file, whole.subarray(0, length));
      expect(() => openGguf(file)).toThrow(/is not a complete GGUF file/);
    }
  });

  it.each([
    ['a tensor over another', 0n, /overlap at byte/],
    ['a tensor beside its place', 33n, /is at 33, which is no multiple of 32/],
    ['a tensor beyond the end', 2n ** 40n, /ends at byte/],
  ] as const)('with %s', (_what, offset, message) => {
    const file = writeGguf(path.join(folder, 'two.gguf'), {
      metadata: {},
      tensors: { first: [8], second: [8] },
    });
    const bytes = readFileSync(file);
    // A tensor's name, dimensions, size and format come before its offset.
    bytes.writeBigUInt64LE(offset, bytes.indexOf('second') + 'second'.length + 4 + 8 + 4);
    writeFileSync(file, bytes);
    expect(() => openGguf(file)).toThrow(message);
  });

  it.each([
    ['general.one', 'general.two', /it has "general.one" twice/],
    ['tensor.one', 'tensor.two', /it has tensor tensor.one twice/],
  ])('that names %s twice', (name, other, message) => {
    const file = writeGguf(path.join(folder, 'twice.gguf'), {
      metadata: { 'general.one': 1, 'general.two': 2 },
      tensors: { 'tensor.one': [8], 'tensor.two': [8] },
    });
    const text = readFileSync(file, 'latin1').replace(other, name);
    writeFileSync(file, text, 'latin1');
    expect(() => openGguf(file)).toThrow(message);
  });

  it('one that claims more than it holds', () => {
    const file = write();
    const bytes = readFileSync(file);
    bytes.writeBigUInt64LE(2n ** 60n, 8);
    writeFileSync(file, bytes);
    expect(() => openGguf(file)).toThrow(/is not a complete GGUF file/);
    writeFileSync(file, 'version https://git-lfs.github.com/spec/v1\n');
    for (const read of [openGguf, isGguf])
      expect(() => read(file)).toThrow(`${file} is a git-lfs pointer, not the file itself`);
    writeFileSync(file, 'versions: 1');
    expect(isGguf(file)).toBe(false);
    writeFileSync(file, 'PK');
    expect(isGguf(file)).toBe(false);
    for (const each of [path.join(folder, 'none.gguf'), folder])
      expect(() => openGguf(each)).toThrow(
        expect.objectContaining({
          code: 'GGUF_UNREADABLE',
          message: `${each} cannot be opened; expected a readable GGUF file.`,
        }),
      );
  });
});
