/** Compares llama.cpp with the embedded engine on GGUF files that the package writes. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildCharTokenizer, chatTemplates } from '@trinity-rft/chat';
import {
  saveGgufAdapter,
  saveGgufModel,
  type GgufFileType,
  type SavedGguf,
} from '@trinity-rft/chat/gguf';
import { createRandom } from '@trinity-rft/core';
import type { Llama } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { parameterSpecs } from '../src/model/parameters.js';
import type { ModelConfig } from '../src/model/config.js';
import { parseModelConfig } from '../src/model/parse-config.js';
import { WeightBuffers } from '../src/model/weights.js';
import { openQuantized } from '../src/quantized/state.js';
import {
  loadModelFolder,
  readModelFiles,
  saveModelFolder,
  type ModelFolder,
} from '../src/storage/model-folder.js';
import { openWeights } from '../src/storage/open-weights.js';
import { OnnxTrainer } from '../src/train/trainer.js';
import { openAdapters } from '../src/lora/open.js';
import { saveAdapters } from '../src/lora/peft-folder.js';
import { adapterSpecs, adapterTargets, planAdapters } from '../src/lora/plan.js';
import { distance } from './support/fixtures.js';
import { findLlama, llamaLogprobs } from './support/llama-cpp.js';
import { cpu, flatOf } from './support/runtime.js';

/** Tokenizer that includes the tokens that llama.cpp requires of a Phi-3 model. */
const tokenizer = buildCharTokenizer({
  characters: Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('') + '\n',
  eosToken: '</s>',
  bosToken: '<s>',
  specialTokens: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'],
  chatTemplate: chatTemplates.chatml,
});
const vocabularySize = 104;

type Json = Readonly<Record<string, unknown>>;

const sizes: Json = {
  vocab_size: vocabularySize,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 128,
  rms_norm_eps: 1e-6,
  eos_token_id: 2,
};
const granite: Json = {
  embedding_multiplier: 3,
  attention_multiplier: 0.2,
  residual_multiplier: 0.5,
  logits_scaling: 2,
};
const gemma: Json = {
  head_dim: 16,
  query_pre_attn_scalar: 16,
  hidden_activation: 'gelu_pytorch_tanh',
  sliding_window: 8,
};
const full = 'full_attention';
const sliding = 'sliding_attention';
const gemma4: Json = {
  model_type: 'gemma4_text',
  num_hidden_layers: 6,
  head_dim: 16,
  sliding_window: 8,
  layer_types: [sliding, full, sliding, full, sliding, full],
  num_kv_shared_layers: 2,
  use_double_wide_mlp: true,
  final_logit_softcapping: 3,
  tie_word_embeddings: true,
};
/** Widths and inputs of Gemma 4's layers that are not the same in all layers. */
const inputs: Json = {
  global_head_dim: 32,
  hidden_size_per_layer_input: 12,
  vocab_size_per_layer_input: vocabularySize,
};
const llama3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 32,
};
/** A window that holds the whole context. */
const wideWindow = { sliding_window: 128 };
const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 };

/** A config.json of every family, and of each trait that GGUF files store differently. */
const configs: Record<string, Json> = {
  llama: { model_type: 'llama', head_dim: 16 },
  'llama, its scaling, all biases': {
    model_type: 'llama',
    attention_bias: true,
    mlp_bias: true,
    rope_scaling: llama3,
    rope_theta: 500_000,
    tie_word_embeddings: true,
  },
  'llama, linear': { model_type: 'llama', rope_scaling: { type: 'linear', factor: 2 } },
  'llama, yarn': { model_type: 'llama', rope_scaling: { ...yarn, attention_factor: 1.3 } },
  mistral: { model_type: 'mistral', sliding_window: null },
  smollm3: { model_type: 'smollm3', num_hidden_layers: 5 },
  qwen2: { model_type: 'qwen2', tie_word_embeddings: true },
  'qwen2, yarn': {
    model_type: 'qwen2',
    rope_parameters: { ...yarn, rope_theta: 1e6, beta_fast: 8 },
  },
  qwen3: { model_type: 'qwen3', head_dim: 16, tie_word_embeddings: true },
  qwen3_moe: {
    model_type: 'qwen3_moe',
    head_dim: 16,
    num_experts: 4,
    num_experts_per_tok: 2,
    moe_intermediate_size: 16,
    norm_topk_prob: true,
  },
  'qwen3_moe, wide': {
    model_type: 'qwen3_moe',
    hidden_size: 256,
    head_dim: 64,
    num_experts: 4,
    num_experts_per_tok: 2,
    moe_intermediate_size: 256,
    norm_topk_prob: true,
  },
  'qwen3, wide': {
    model_type: 'qwen3',
    hidden_size: 256,
    intermediate_size: 512,
    head_dim: 64,
    tie_word_embeddings: true,
  },
  'llama, wide': {
    model_type: 'llama',
    hidden_size: 256,
    intermediate_size: 512,
    head_dim: 64,
    tie_word_embeddings: true,
  },
  phi3: { model_type: 'phi3', sliding_window: null },
  lfm2: {
    model_type: 'lfm2',
    num_hidden_layers: 4,
    layer_types: ['conv', 'conv', 'full_attention', 'conv'],
    block_multiple_of: 8,
    norm_eps: 1e-4,
  },
  'lfm2, wide': {
    model_type: 'lfm2',
    hidden_size: 256,
    block_ff_dim: 768,
    num_hidden_layers: 3,
    full_attn_idxs: [1],
  },
  qwen3_5_text: {
    model_type: 'qwen3_5_text',
    num_hidden_layers: 5,
    head_dim: 16,
    full_attention_interval: 2,
    linear_num_key_heads: 2,
    linear_num_value_heads: 6,
    linear_key_head_dim: 16,
    linear_value_head_dim: 16,
    tie_word_embeddings: true,
  },
  'qwen3_5_text, one value head per key head': {
    model_type: 'qwen3_5_text',
    num_hidden_layers: 3,
    head_dim: 16,
    layer_types: ['linear_attention', 'linear_attention', 'full_attention'],
    linear_num_key_heads: 2,
    linear_num_value_heads: 2,
    linear_key_head_dim: 16,
    linear_value_head_dim: 16,
    partial_rotary_factor: 0.5,
  },
  'qwen3_5_text, wide': {
    model_type: 'qwen3_5_text',
    hidden_size: 256,
    intermediate_size: 512,
    num_hidden_layers: 4,
    head_dim: 64,
    linear_num_key_heads: 2,
    linear_num_value_heads: 4,
    linear_key_head_dim: 64,
    linear_value_head_dim: 64,
    tie_word_embeddings: true,
  },
  'phi3, longrope, rotated in part, tied': {
    model_type: 'phi3',
    sliding_window: null,
    tie_word_embeddings: true,
    max_position_embeddings: 1024,
    original_max_position_embeddings: 512,
    partial_rotary_factor: 0.75,
    rope_scaling: { type: 'longrope', short_factor: [1, 1.5, 4], long_factor: [2, 5, 9] },
  },
  ministral3: {
    model_type: 'ministral3',
    head_dim: 16,
    rope_parameters: {
      ...yarn,
      original_max_position_embeddings: 64,
      rope_theta: 10_000,
      mscale: 1,
      mscale_all_dim: 1,
      llama_4_scaling_beta: 0.1,
    },
  },
  granite: { model_type: 'granite', ...granite },
  'granite, all biases': {
    model_type: 'granite',
    ...granite,
    attention_bias: true,
    mlp_bias: true,
  },
  granitemoehybrid: {
    model_type: 'granitemoehybrid',
    ...granite,
    num_local_experts: 0,
    num_experts_per_tok: 0,
    shared_intermediate_size: 40,
    layer_types: ['attention', 'attention'],
    position_embedding_type: 'rope',
  },
  olmo2: { model_type: 'olmo2' },
  'olmo2, tied': { model_type: 'olmo2', tie_word_embeddings: true },
  olmo3: { model_type: 'olmo3', sliding_window: 8, num_hidden_layers: 5 },
  'olmo3, yarn': {
    model_type: 'olmo3',
    sliding_window: 8,
    layer_types: [sliding, sliding, sliding, full],
    num_hidden_layers: 4,
    rope_parameters: {
      full_attention: { ...yarn, rope_theta: 10_000, attention_factor: 1.2 },
      sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
    },
  },
  gemma4_text: { ...gemma4, ...inputs },
  'gemma4_text, no inputs by token, nothing shared': {
    ...gemma4,
    num_kv_shared_layers: 0,
    hidden_size_per_layer_input: 0,
    final_logit_softcapping: null,
    per_layer_config: { 1: { head_dim: 32 }, 3: { head_dim: 32 }, 5: { head_dim: 32 } },
  },
  'gemma4_text, wide': {
    ...gemma4,
    ...inputs,
    hidden_size: 256,
    intermediate_size: 512,
    head_dim: 64,
    global_head_dim: 128,
    hidden_size_per_layer_input: 256,
  },
  gemma2: { model_type: 'gemma2', ...gemma, attn_logit_softcapping: 2, final_logit_softcapping: 3 },
  'gemma2, no window': {
    model_type: 'gemma2',
    ...gemma,
    sliding_window: null,
    attn_logit_softcapping: 50,
    final_logit_softcapping: 30,
  },
  'gemma3_text, no window': { model_type: 'gemma3_text', ...gemma, sliding_window: null },
  'gemma3_text, wide window, every sixth layer full': {
    model_type: 'gemma3_text',
    ...gemma,
    ...wideWindow,
    num_hidden_layers: 7,
    final_logit_softcapping: 30,
  },
  gemma3_text: {
    model_type: 'gemma3_text',
    ...gemma,
    layer_types: ['sliding_attention', 'full_attention'],
    rope_parameters: {
      full_attention: { rope_type: 'linear', factor: 8, rope_theta: 10_000 },
      sliding_attention: { rope_type: 'default', rope_theta: 100 },
    },
  },
};

/** Further position scalings, each with the families that can have it. */
const scaled = [
  [
    'linear',
    ['qwen2', 'qwen3', 'qwen3_moe', 'smollm3', 'olmo2', 'phi3', 'gemma2', 'mistral', 'granite'],
  ],
  ['yarn', ['qwen3', 'qwen3_moe', 'smollm3', 'olmo2', 'mistral', 'granite']],
  ['llama3', ['mistral', 'granite']],
] as const;
const scalings = { linear: { rope_type: 'linear', factor: 3 }, yarn, llama3 } as const;
for (const [kind, families] of scaled)
  for (const family of families)
    configs[`${family}, scaled by ${kind}`] = {
      ...configs[family],
      rope_scaling: scalings[kind],
    };

const tokens = Array.from({ length: 64 }, (_, i) => 6 + ((i * i * 7 + i * 11) % 90));
const batch = { rows: [{ tokens: Int32Array.from(tokens), promptLength: 1, temperature: 1 }] };

let scratch = '';
let llama: Llama | undefined;
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-llama-cpp-'));
  llama = await findLlama();
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const runtime = ({ skip }: TestContext): Llama =>
  llama ?? skip('node-llama-cpp has no library for this platform');

interface TestModel {
  readonly folder: string;
  readonly json: Json;
  /** Log-probabilities of the engine. */
  readonly logprobs: Float32Array;
}

/** A model folder whose weights are all random: norms and biases too. */
async function makeModel(name: string): Promise<TestModel> {
  const json = { ...sizes, ...configs[name] };
  const config = parseModelConfig(json, name);
  const random = createRandom(7);
  const specs = parameterSpecs(config);
  const weights = Float32Array.from(
    specs.flatMap(({ size, name: parameter }) => {
      const centre = centreOf(parameter, config);
      const scale = scaleOf(parameter, config);
      return Array.from({ length: size }, () => centre + scale * random.normal());
    }),
  );
  const folder = path.join(scratch, name.replaceAll(/\W+/g, '-'));
  await mkdir(folder, { recursive: true });
  const configText = JSON.stringify(json);
  await saveModelFolder(folder, { config, configText, companions: new Map() }, weights);
  return { folder, json, logprobs: await logprobsOf({ config, weights }) };
}

function centreOf(parameter: string, { normOffset = 0, attentionScale }: ModelConfig): number {
  // Scores of Gemma 4 are not scaled, so its queries are smaller.
  if (attentionScale === 1 && parameter.endsWith('q_norm.weight')) return 0.2;
  return /norm\.weight$|layer_scalar$/.test(parameter) ? 1 - normOffset : 0;
}

/**
 * llama.cpp looks GELU up in a table of float16 between -10 and 10. The errors grow with each layer
 * of Gemma 4, so that few of its gates are in this range.
 */
function scaleOf(parameter: string, { hiddenSize, layerScalar }: ModelConfig): number {
  const isLarge = layerScalar && /gate(_proj)?\.weight$/.test(parameter);
  return (isLarge ? 1e4 : 1.1) / Math.sqrt(hiddenSize);
}

async function logprobsOf({
  config,
  weights,
}: Pick<ModelFolder, 'config' | 'weights'>): Promise<Float32Array> {
  const buffers = new WeightBuffers(cpu(), config, weights);
  const trainer = new OnnxTrainer({ config, weights: buffers });
  const { logprobs } = await trainer.forward(batch);
  await trainer.close();
  return logprobs;
}

async function save(
  { folder, json }: TestModel,
  type: GgufFileType,
): Promise<SavedGguf & { target: string }> {
  const target = path.join(folder, `${type}.gguf`);
  const weights = await openWeights(folder);
  try {
    const saved = await saveGgufModel({ config: json, tokenizer, weights, target, type });
    return { ...saved, target };
  } finally {
    await weights.close();
  }
}

const mean = (values: Float32Array): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const differences = (a: Float32Array, b: Float32Array): Float32Array =>
  a.map((value, i) => Math.abs(value - b[i]!));

describe('log-probabilities of a GGUF file in llama.cpp equal those of the engine:', () => {
  it.for(Object.keys(configs))('%s', async (name, context) => {
    const model = await makeModel(name);
    const { target, tensors } = await save(model, 'F32');
    expect(Object.keys(tensors)).toEqual(['F32']);
    const found = await llamaLogprobs(runtime(context), { model: target, tokens });
    // llama.cpp looks GELU up in a table of float16.
    const limit = /^gemma[23]/.test(name) ? 2e-3 : 1e-5;
    expect(distance(found, model.logprobs)).toBeLessThan(limit);
  });

  it.for([
    ['F16', 0.02],
    ['BF16', 0.1],
    ['Q8_0', 0.1],
    ['Q6_K', 0.2],
    ['Q4_K_M', 0.5],
  ] as const)('qwen3 as %s, on average', async ([type, limit], context) => {
    const model = await makeModel('qwen3, wide');
    const { target } = await save(model, type);
    const found = await llamaLogprobs(runtime(context), { model: target, tokens });
    expect(mean(differences(found, model.logprobs))).toBeLessThan(limit);
  });
});

it.for(Object.keys(configs))(
  'a GGUF file of %s is read as the model that was written',
  async (name) => {
    const model = await makeModel(name);
    const { target } = await save(model, 'F32');
    const found = await logprobsOf(await loadModelFolder(target));
    expect(distance(found, model.logprobs)).toBeLessThan(1e-5);
  },
);

describe('log-probabilities of an adapter as GGUF in llama.cpp equal those of the engine:', () => {
  it.for([
    'llama',
    'qwen3',
    'phi3',
    'lfm2',
    'ministral3',
    'granitemoehybrid',
    'qwen3_5_text',
    'olmo3',
    'gemma4_text',
  ])('%s', async (name, context) => {
    const model = await makeModel(name);
    const { target } = await save(model, 'F32');
    const config = parseModelConfig(model.json, name);
    const plan = planAdapters(config, { rank: 4, alpha: 6 });
    const random = createRandom(11);
    const size = adapterSpecs(adapterTargets(config, plan)).reduce(
      (sum, spec) => sum + spec.size,
      0,
    );
    const flat = Float32Array.from({ length: size }, () => 0.1 * random.normal());
    const folder = path.join(model.folder, 'adapter');
    await saveAdapters(folder, { config, plan, flat, baseModel: model.folder });
    const weights = await openWeights(path.join(folder, 'adapter_model.safetensors'));
    const adapter = path.join(folder, 'adapter.gguf');
    await saveGgufAdapter({
      adapter: JSON.parse(await readFile(path.join(folder, 'adapter_config.json'), 'utf8')) as Json,
      config: model.json,
      weights,
      target: adapter,
    });
    await weights.close();
    const logprobs = await adaptedLogprobs(model, folder);
    const found = await llamaLogprobs(runtime(context), { model: target, adapter, tokens });
    expect(distance(found, logprobs)).toBeLessThan(name === 'qwen3_5_text' ? 5e-5 : 1e-5);
    expect(distance(model.logprobs, logprobs)).toBeGreaterThan(0.1);
  });
});

describe('log-probabilities of a quantised file with an adapter in llama.cpp are those of the engine beside it:', () => {
  it.for([
    ['llama, wide', 'Q8_0', 0.03],
    ['qwen3, wide', 'Q8_0', 0.03],
    ['lfm2, wide', 'Q8_0', 0.03],
    ['qwen3_5_text, wide', 'Q8_0', 0.03],
    ['gemma4_text, wide', 'Q8_0', 0.03],
    ['qwen3_moe, wide', 'Q8_0', 0.03],
    ['llama, wide', 'Q4_K_M', 0.06],
    ['qwen3, wide', 'Q4_K_M', 0.06],
    ['gemma4_text, wide', 'Q4_K_M', 0.06],
    ['qwen3_moe, wide', 'Q4_K_M', 0.06],
  ] as const)('%s as %s', async ([name, type, limit], context) => {
    const model = await makeModel(name);
    const { target } = await save(model, type);
    const files = await readModelFiles(target);
    const options = {
      modelPath: target,
      quantization: 'file',
      reference: false,
    } as const;
    const lora = { rank: 4, alpha: 6 };
    const state = await openQuantized({ ...options, lora }, cpu(), files);
    const random = createRandom(11);
    const matrices = flatOf(state.weights.training);
    state.weights.update(matrices.map(() => 0.05 * random.normal()));
    const { config } = files;
    const trainer = new OnnxTrainer({
      config,
      weights: state.weights,
      trainable: state.trainable,
    });
    const { logprobs } = await trainer.forward(batch);
    const folder = path.join(model.folder, 'beside');
    await state.save(folder, { optimizer: undefined });
    await trainer.close();
    await state.kernels.close();
    const own = path.join(folder, 'lora_adapter');
    const weights = await openWeights(path.join(own, 'adapter_model.safetensors'));
    const adapter = path.join(own, 'adapter.gguf');
    const json = async (place: string): Promise<Json> =>
      JSON.parse(await readFile(place, 'utf8')) as Json;
    await saveGgufAdapter({
      adapter: await json(path.join(own, 'adapter_config.json')),
      config: await json(path.join(folder, 'config.json')),
      weights,
      target: adapter,
    });
    await weights.close();
    const found = await llamaLogprobs(runtime(context), { model: target, adapter, tokens });
    expect(mean(differences(found, logprobs))).toBeLessThan(limit);
    const without = await llamaLogprobs(runtime(context), { model: target, tokens });
    expect(mean(differences(without, logprobs))).toBeGreaterThan(0.2);
  });
});

it.for([
  'llama',
  'phi3',
  'lfm2',
  'qwen3_5_text',
  'gemma2',
  'gemma4_text',
  'olmo2',
  'qwen3_moe',
  'granitemoehybrid',
])('%s is refused without any one of its tensors', async (name) => {
  const { folder, json } = await makeModel(name);
  const weights = await openWeights(folder);
  const notMissed: string[] = [];
  for (const missing of weights.tensors.keys()) {
    const tensors = new Map([...weights.tensors].filter(([tensor]) => tensor !== missing));
    const partial = { tensors, read: (tensor: string) => weights.read(tensor) };
    const target = path.join(folder, 'partial.gguf');
    const saving = saveGgufModel({ config: json, tokenizer, weights: partial, target });
    const problem = await saving.then(() => undefined, String);
    if (!problem?.includes('is missing')) notMissed.push(missing);
  }
  await weights.close();
  expect(notMissed).toEqual([]);
});

it('a block with columns of several heads of Qwen3.5 is refused beside an adapter, not mixed up', async () => {
  const model = await makeModel('qwen3_5_text');
  const { target } = await save(model, 'Q8_0');
  const options = { modelPath: target, quantization: 'file', reference: false } as const;
  const files = await readModelFiles(target);
  const opened = openQuantized({ ...options, lora: { rank: 4, alpha: 6 } }, cpu(), files);
  await expect(opened).rejects.toThrow('blk.0.ssm_out.weight hold columns of several heads');
  const { weights } = await loadModelFolder(target);
  expect(weights.every(Number.isFinite)).toBe(true);
});

async function adaptedLogprobs(
  { folder, json }: TestModel,
  adapter: string,
): Promise<Float32Array> {
  const config = parseModelConfig(json, folder);
  const stored = await openWeights(folder);
  const parts: Float32Array[] = [];
  for (const { name } of parameterSpecs(config)) parts.push(await stored.read(name));
  await stored.close();
  const flat = Float32Array.from(parts.flatMap((part) => [...part]));
  const weights = new WeightBuffers(cpu(), config, flat);
  const trainable = await openAdapters({ config, weights, lora: { path: adapter } });
  const trainer = new OnnxTrainer({ config, weights, trainable });
  const { logprobs } = await trainer.forward(batch);
  await trainer.close();
  await trainable.close();
  return logprobs;
}
