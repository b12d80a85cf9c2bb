/** Reads GGUF files of Gemma 4. The tests of the engine compare written files with llama.cpp's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openGgufModel, readGgufConfig } from '../../src/gguf/gguf-model.js';
import { proportionalDivisors } from '../../src/gguf/model/rope.js';
import type { TokenizerFiles } from '../../src/tokenizer/files.js';
import { createTokenizer } from '../../src/tokenizer/tokenizer.js';
import { writeGguf, type GgufContent } from './support/write-gguf.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-gemma4-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Metadata = GgufContent['metadata'];

const [full, sliding] = ['full_attention', 'sliding_attention'];
const byteTokens = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
);

/** Keys as Ollama's converter writes them. llama.cpp's writes the tokenizer model `gemma4`. */
const keys: Metadata = {
  'general.architecture': 'gemma4',
  'gemma4.block_count': 4,
  'gemma4.context_length': 128,
  'gemma4.embedding_length': 32,
  'gemma4.feed_forward_length': [48, 48, 48, 96],
  'gemma4.attention.head_count': 4,
  'gemma4.attention.head_count_kv': 2,
  'gemma4.attention.key_length': 16,
  'gemma4.attention.key_length_swa': 8,
  'gemma4.attention.layer_norm_rms_epsilon': 1e-6,
  'gemma4.attention.sliding_window': 64,
  'gemma4.attention.sliding_window_pattern': 2,
  'gemma4.attention.shared_kv_layers': 1,
  'gemma4.embedding_length_per_layer_input': 4,
  'gemma4.final_logit_softcapping': 30,
  'gemma4.rope.dimension_count': 16,
  'gemma4.rope.freq_base': 1_000_000,
  'gemma4.rope.freq_base_swa': 10_000,
  'tokenizer.ggml.model': 'llama',
  'tokenizer.ggml.pre': 'gemma4',
  'tokenizer.ggml.tokens': ['<eos>', '<turn|>', ...byteTokens, 'a', 'b', '▁', 'ab', '▁a'],
  'tokenizer.ggml.token_type': [3, 3, ...byteTokens.map(() => 6), 1, 1, 1, 1, 1],
  'tokenizer.ggml.scores': Array.from({ length: 263 }, () => 0),
  'tokenizer.ggml.merges': ['a b', '▁ a'],
  'tokenizer.ggml.eos_token_id': 0,
};

/** Keys of the tokenizer as llama.cpp's converter writes them, with one end token only. */
const llamaCppKeys: Metadata = {
  'tokenizer.ggml.model': 'gemma4',
  'tokenizer.ggml.tokens': [...(keys['tokenizer.ggml.tokens'] as string[]), '<|tool_response>'],
  'tokenizer.ggml.token_type': [...(keys['tokenizer.ggml.token_type'] as number[]), 3],
};

/** Writes a file whose keys are changed; the value '' removes a key. */
function write(change: Metadata = {}, divisors = proportionalDivisors(16, 0.25)): string {
  const kept = Object.entries({ ...keys, ...change }).filter(([, value]) => value !== '');
  return writeGguf(path.join(folder, 'model.gguf'), {
    metadata: Object.fromEntries(kept),
    tensors: {
      'rope_freqs.weight': [divisors.length],
      'token_embd.weight': [265, 32],
      'blk.3.layer_output_scale.weight': [1],
      'v.blk.0.attn_q.weight': [4],
      'a.conv1d.0.weight': [4],
      'mm.input_projection.weight': [4],
    },
    values: divisors,
  });
}

function text(file: string, name: string): string {
  const model = openGgufModel(file);
  try {
    return model.text(name) ?? '';
  } finally {
    model.close();
  }
}

const json = (file: string, name: string): unknown => JSON.parse(text(file, name));

describe('a GGUF file of Gemma 4', () => {
  it('gives the config.json of its text part', () => {
    const file = write();
    expect(json(file, 'config.json')).toMatchObject({
      architectures: ['Gemma4ForCausalLM'],
      model_type: 'gemma4_text',
      vocab_size: 265,
      vocab_size_per_layer_input: 265,
      hidden_size_per_layer_input: 4,
      intermediate_size: 48,
      use_double_wide_mlp: true,
      num_kv_shared_layers: 1,
      head_dim: 8,
      global_head_dim: 16,
      hidden_activation: 'gelu_pytorch_tanh',
      sliding_window: 64,
      layer_types: [sliding, full, sliding, full],
      rope_parameters: {
        full_attention: {
          rope_type: 'proportional',
          partial_rotary_factor: 0.25,
          rope_theta: 1_000_000,
        },
        sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
      },
    });
    const model = openGgufModel(file);
    expect(model.isTextPart).toBe(true);
    expect([...model.tensors.keys()]).toEqual([
      'model.embed_tokens.weight',
      'model.layers.3.layer_scalar',
    ]);
    model.close();
  });

  it.each([
    [30, '30.0'],
    [2.5, '2.5'],
    [0, 'null'],
  ])('caps logits at %d, as %s, which transformers reads', (cap, written) => {
    const file = write({ 'gemma4.final_logit_softcapping': cap });
    expect(text(file, 'config.json')).toContain(`"final_logit_softcapping": ${written}\n`);
  });

  it.each<Metadata>([{}, { 'tokenizer.ggml.model': 'gemma4' }])(
    'merges in the order of the file, with no space before a text (%j)',
    (change) => {
      const file = write(change);
      const files = { tokenizer: json(file, 'tokenizer.json'), tokenizerConfig: {} };
      const tokenizer = createTokenizer(files as TokenizerFiles);
      expect(tokenizer.vocabularySize).toBe(263);
      const id = (token: string): number | undefined => tokenizer.tokenToId(token);
      expect([...tokenizer.encode('ab a')]).toEqual([id('ab'), id('▁a')]);
      expect([...tokenizer.encode('b\n')]).toEqual([id('b'), id('<0x0A>')]);
      expect(json(file, 'tokenizer_config.json')).toMatchObject({ add_bos_token: true });
    },
  );

  it('ends answers at all tokens that Ollama lists', () => {
    const file = write({ 'tokenizer.ggml.eos_token_ids': [0, 2] });
    expect(json(file, 'generation_config.json')).toMatchObject({ eos_token_id: [0, 2, 1] });
  });

  it.each([0, 1])('of llama.cpp, with end token %d, ends answers at all of them', (eos) => {
    const file = write({
      ...llamaCppKeys,
      'tokenizer.ggml.eos_token_id': eos,
      'tokenizer.ggml.add_bos_token': false,
    });
    const { eos_token_id: ends } = json(file, 'generation_config.json') as {
      readonly eos_token_id: readonly number[];
    };
    expect(ends.toSorted((a, b) => a - b)).toEqual([0, 1, 263]);
    expect(json(file, 'tokenizer_config.json')).toMatchObject({ add_bos_token: true });
  });

  it.each<readonly [Metadata, string]>([
    [{ 'gemma4.attention.head_count_kv': [2, 1, 2, 1] }, 'head_count_kv differs between layers'],
    [{ 'gemma4.feed_forward_length': [48, 96, 48, 96] }, 'expected one width, or twice'],
    [{ 'gemma4.attention.sliding_window_pattern': '' }, 'sliding_window_pattern is missing'],
    [
      { 'gemma4.attention.sliding_window_pattern': [true, false] },
      'sliding_window_pattern has 2 values; expected one for each of the 4 layers',
    ],
    [{ 'gemma4.attention.head_count_kv': [2] }, 'head_count_kv has 1 values'],
    [{ 'gemma4.feed_forward_length': [48, 96] }, 'feed_forward_length has 2 values'],
    [{ 'gemma4.expert_count': 128 }, 'the model has 128 experts per layer'],
    [{ 'tokenizer.ggml.merges': 3 }, 'merges is not a list of texts'],
  ])('is refused with %j', (change, message) => {
    expect(() => readGgufConfig(write(change))).toThrow(message);
  });

  it('is refused with the divisors of another rotary scaling', () => {
    const message = 'rope_freqs.weight is not that of Gemma 4';
    expect(() => readGgufConfig(write({}, [1, 1, 8, 8, 8, 8, 8, 8]))).toThrow(message);
    expect(() => readGgufConfig(write({}, [1, 1]))).toThrow(message);
  });
});
