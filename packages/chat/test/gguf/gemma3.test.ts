/**
 * Reads and writes Gemma 3 as a GGUF file. The tests of the engine compare written files with
 * llama.cpp's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openGgufModel, saveGgufModel, type WeightSource } from '../../src/gguf/index.js';
import { buildCharTokenizer } from '../../src/tokenizer/char-tokenizer.js';
import { randomWeights } from './support/small-model.js';

const scratch = mkdtempSync(path.join(tmpdir(), 'trinity-gemma3-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const tokenizer = buildCharTokenizer({ characters: 'ab', eosToken: '</s>' });
const rope = {
  full_attention: { rope_type: 'linear', factor: 8, rope_theta: 20_000 },
  sliding_attention: { rope_type: 'default', rope_theta: 100 },
};
const config = {
  model_type: 'gemma3_text',
  vocab_size: 8,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  query_pre_attn_scalar: 16,
  hidden_activation: 'gelu_pytorch_tanh',
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  tie_word_embeddings: true,
};
const windowed = {
  sliding_window: 8,
  layer_types: ['sliding_attention', 'full_attention', 'sliding_attention'],
  rope_parameters: rope,
};

const layer = (i: number): readonly (readonly [string, readonly number[]])[] => [
  ...['input', 'post_attention', 'pre_feedforward', 'post_feedforward'].map(
    (name) => [`model.layers.${i}.${name}_layernorm.weight`, [32]] as const,
  ),
  ...['q', 'k'].map((name) => [`model.layers.${i}.self_attn.${name}_norm.weight`, [16]] as const),
  [`model.layers.${i}.self_attn.q_proj.weight`, [64, 32]],
  [`model.layers.${i}.self_attn.k_proj.weight`, [32, 32]],
  [`model.layers.${i}.self_attn.v_proj.weight`, [32, 32]],
  [`model.layers.${i}.self_attn.o_proj.weight`, [32, 64]],
  [`model.layers.${i}.mlp.gate_proj.weight`, [48, 32]],
  [`model.layers.${i}.mlp.up_proj.weight`, [48, 32]],
  [`model.layers.${i}.mlp.down_proj.weight`, [32, 48]],
];
const shapes = new Map<string, readonly number[]>([
  ['model.embed_tokens.weight', [8, 32]],
  ['model.norm.weight', [32]],
  ...[0, 1, 2].flatMap(layer),
]);

async function written(change: object, weights: WeightSource = randomWeights(shapes)) {
  const target = path.join(scratch, 'model.gguf');
  const json = { ...config, ...change };
  await saveGgufModel({ config: json, tokenizer, weights, target, type: 'F32' });
  return openGgufModel(target);
}

it('has the weights that were written, without the 1 that llama.cpp adds to norms', async () => {
  const weights = randomWeights(shapes);
  const model = await written(windowed, weights);
  expect([...model.tensors.keys()].toSorted()).toEqual([...shapes.keys()].toSorted());
  for (const [name, { shape, read }] of model.tensors) {
    const into = new Float32Array(shape.reduce((product, n) => product * n, 1));
    read(into);
    const expected = await weights.read(name);
    const error = into.reduce(
      (most, value, i) => Math.max(most, Math.abs(value - expected[i]!)),
      0,
    );
    expect({ name, isNear: error < 1e-6 }).toEqual({ name, isNear: true });
  }
  model.close();
});

it('has the windows, positions and attention of the model', async () => {
  const model = await written(windowed);
  expect(JSON.parse(model.text('config.json')!)).toMatchObject({
    ...config,
    architectures: ['Gemma3ForCausalLM'],
    sliding_window: 8,
    layer_types: windowed.layer_types,
    rope_theta: 20_000,
    rope_local_base_freq: 100,
    rope_scaling: { rope_type: 'linear', factor: 8 },
    final_logit_softcapping: null,
  });
  model.close();
  const full = await written({ sliding_window: null, final_logit_softcapping: 30 });
  expect(JSON.parse(full.text('config.json')!)).toMatchObject({
    sliding_window: null,
    layer_types: ['full_attention', 'full_attention', 'full_attention'],
    final_logit_softcapping: 30,
  });
  full.close();
});
