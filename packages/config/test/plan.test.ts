import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planConfig, renderPlan } from '../src/index.js';
import { countParameters } from '../src/plan/memory.js';
import { planSteps } from '../src/plan/steps.js';
import { planTime } from '../src/plan/time.js';
import { diskAt } from '../src/resolve/base/disk.js';
import { writeGemma4File } from './quantized-file.js';
import { createWorkspace, engines, modelShape, parse, yaml } from './workspace.js';

const cwd = createWorkspace();

const text = yaml({
  top: 'name: plan\nseed: 7',
  algorithm: 'algorithm:\n  algorithm_type: grpo\n  repeat_times: 4',
  model: 'model:\n  model_path: ./tiny\n  max_model_len: 64',
  buffer:
    'buffer:\n  batch_size: 8\n  train_batch_size: 16\n  total_epochs: 2\n  explorer_input:\n    default_workflow_type: w\n    taskset: {name: sums, path: ./tasks.jsonl}\n    eval_tasksets: [{name: held_out, path: ./tasks.jsonl, repeat_times: 2}]',
  rest: 'explorer: {eval_interval: 10}\nsynchronizer: {sync_interval: 2, sync_offset: 1}\ntrainer: {save_interval: 20}',
});

describe('a plan', () => {
  it('does the arithmetic of batches', () => {
    const { stages } = planConfig(parse(cwd, text).config, {
      rows: [{ sums: 100, 'eval/held_out': 30 }],
    });
    expect(stages[0]?.steps).toEqual({
      rows: 100,
      exploreSteps: 25,
      leastExploreSteps: 25,
      tasksPerExploreStep: 8,
      mostTasksPerExploreStep: 8,
      runsPerTask: 4,
      experiencesPerExploreStep: 32,
      trainBatchSize: 16,
      trainBatchUnit: 'runs',
      trainStepsPerExploreStep: 2,
      trainSteps: 50,
      leastTrainSteps: 50,
      syncs: 12,
      maxStaleness: 2,
      evaluations: 4,
      evalTasks: 60,
      checkpoints: 3,
    });
  });

  it('shows the whole algorithm, also what the file leaves out', () => {
    const dapo = parse(cwd, text.replace('algorithm_type: grpo', 'algorithm_type: dapo'));
    const shown = renderPlan(
      planConfig(dapo.config, { rows: [{ sums: 100, 'eval/held_out': 30 }] }),
    );
    expect(shown).toMatch(
      /^ {2}operator +dapo_dynamic_sampling \{ .*\n {2}operator +overlong_penalty \{ max_response_length: 32, .*cache_share: 0\.2.*\n {2}operator +mask_response_truncated/m,
    );
    expect(shown).toContain(
      '3 to 25 steps from 100 tasks, each 8 to 80 tasks x 4 runs = 32 to 320 experiences or more',
    );
    expect(shown).toContain('0 to 50 steps of 16 runs');
    expect(shown).toMatch(/^ {2}policy_loss_fn +ppo \{ .*clip_range_high: 0\.28, .*\}\n/m);
    expect(shown).toMatch(/^ {2}loss_agg_mode +token-mean$/m);
    expect(shown).not.toContain('kl_loss_fn');
  });

  // Shapes, rows x (prompt + response) and seconds of a step of `docs/reference/models.md`, on two cores.
  const smol = [49152, 576, 1536, 30, 9, 3];
  const qwen = [151936, 896, 4864, 24, 14, 2];
  it.each([
    { shape: smol, rows: 64, prompt: 44, response: 14, lora: true, seconds: 24 },
    { shape: smol, rows: 64, prompt: 44, response: 14, lora: false, seconds: 33 },
    { shape: qwen, rows: 8, prompt: 128, response: 128, lora: true, seconds: 103 },
    { shape: qwen, rows: 8, prompt: 128, response: 128, lora: false, seconds: 139 },
  ])('estimates $seconds s at no less than half and no more than twice', (step) => {
    const { shape, rows, prompt, response, seconds } = step;
    const [vocabSize, hidden, intermediate, layers, heads, keyValueHeads] = shape;
    const config = {
      ...modelShape,
      vocab_size: vocabSize,
      hidden_size: hidden,
      intermediate_size: intermediate,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: keyValueHeads,
      head_dim: 64,
    };
    mkdirSync(join(cwd, 'measured'), { recursive: true });
    writeFileSync(join(cwd, 'measured/config.json'), JSON.stringify(config));
    const lora = step.lora ? '\n  lora_configs: [{lora_rank: 16, lora_alpha: 16}]' : '';
    const [stage] = parse(
      cwd,
      text
        .replace('repeat_times: 4', 'repeat_times: 8\n  kl_loss_fn: none')
        .replace('batch_size: 8\n  train_batch_size: 16', `batch_size: ${rows / 8}`)
        .replace('total_epochs: 2', 'total_steps: 1')
        .replace(
          './tiny\n  max_model_len: 64',
          `./measured\n  max_prompt_tokens: ${prompt}\n  max_response_tokens: ${response}${lora}`,
        )
        .replace(/\n {4}eval_tasksets: .*/, ''),
    ).config.stages;
    const time = stage && planTime(stage, planSteps(stage, {}), diskAt(cwd), 2);
    const estimate = (time?.sampling ?? NaN) + (time?.training ?? NaN);
    expect(estimate).toBeGreaterThan(seconds / 2);
    expect(estimate).toBeLessThan(seconds * 2);
  });

  it('counts the same rows of a train batch in each unit', () => {
    const planned = (batch: string) => {
      const { config } = parse(cwd, text.replace('train_batch_size: 16', batch));
      const [plan] = planConfig(config, { rows: [{ sums: 100, 'eval/held_out': 30 }] }).stages;
      return { time: plan?.time, memory: plan?.memory };
    };
    const tasks = planned('train_batch_unit: tasks');
    expect(tasks).toEqual(planned('train_batch_unit: runs'));
    expect(tasks.time?.training).toBeGreaterThan(0);
  });

  it('says what it does not know without the sizes of the task sets', () => {
    const { stages } = planConfig(parse(cwd, text).config);
    expect(stages[0]?.steps).toMatchObject({
      rows: undefined,
      exploreSteps: undefined,
      trainSteps: undefined,
      checkpoints: undefined,
    });
    expect(renderPlan(planConfig(parse(cwd, text).config))).toContain('unknown steps');
  });

  it('counts whole explore steps for large train batches', () => {
    const { config } = parse(
      cwd,
      text
        .replace(
          'batch_size: 8\n  train_batch_size: 16',
          'batch_size: 1\n  train_batch_unit: tasks\n  train_batch_size: 49',
        )
        .replace('{save_interval: 20}', '{total_steps: 1}'),
    );
    expect(planConfig(config).stages[0]?.steps).toMatchObject({ exploreSteps: 49, trainSteps: 1 });
  });

  // A batch of 20 of the 12 rollouts of each explore step leaves 4, so the next one has 16 of two.
  it.each([
    [20, 20, 14],
    [20, 16, 15],
    [20, 24, 10],
    [5, 20, 4],
    [19, 5, 57],
  ])('counts the batches that %i explore steps of 12 fill with %i', (steps, size, trainSteps) => {
    const plan = (more: string, explorer = '') =>
      planConfig(
        parse(
          cwd,
          text
            .replace('explorer: {', `explorer: {${explorer}`)
            .replace('repeat_times: 4', 'repeat_times: 2')
            .replace(
              'batch_size: 8\n  train_batch_size: 16',
              `batch_size: 6\n  train_batch_size: ${size}`,
            )
            .replace('total_epochs: 2', more),
        ).config,
      );
    const known = plan(`total_steps: ${steps}`);
    expect(known.stages[0]?.steps).toMatchObject({ trainSteps });
    const filled = plan(`total_steps: ${steps}`, 'dynamic_sampling: {enable: true}, ');
    expect(filled.stages[0]?.steps.trainSteps).toBe(Math.ceil((steps * 12) / size));
    const replay = 'trainer_input: {experience_buffer: {replay_buffer: {enable: true}}}';
    const replayed = plan(`total_steps: ${steps}\n  ${replay}`);
    expect(replayed.stages[0]?.steps).toMatchObject({ exploreSteps: steps, trainSteps: undefined });
    expect(renderPlan(replayed)).toContain('their number depends on what replay_buffer repeats');
  });

  it('knows the steps that the file sets', () => {
    const { config } = parse(
      cwd,
      text
        .replace('total_epochs: 2', 'total_steps: 10')
        .replace('{save_interval: 20}', '{save_interval: 20, total_steps: 15}'),
    );
    expect(planConfig(config).stages[0]?.steps).toMatchObject({
      // Two train steps follow from an explore step.
      exploreSteps: 8,
      trainSteps: 15,
      checkpoints: 1,
      syncs: 3,
    });
  });

  it('estimates memory from config.json', () => {
    const memory = planConfig(
      parse(cwd, text.replace('max_model_len: 64', 'max_model_len: 64\n  memory_budget_mb: 16'))
        .config,
    ).stages[0]?.memory;
    const D = 64;
    const parameters = 100 * D + 2 * (2 * D * 4 * 16 + 2 * D * 2 * 16 + 3 * D * 128 + 2 * D) + D;
    const once = (parameters * 4) / 2 ** 20;
    expect(memory?.parameters).toBe(parameters);
    expect(memory).toMatchObject({
      weights: once,
      gradients: once,
      moments: 2 * once,
      copies: 2 * once,
      activations: 16,
      keyValueCache: (64 * 64 * 2 * 2 * 2 * 16 * 4) / 2 ** 20,
    });
    expect(memory?.total).toBeCloseTo(6 * once + 16 + (memory?.keyValueCache ?? 0), 9);
  });

  it('counts gradients and moments of an adapter alone, beside a base that is the reference and two merged copies', () => {
    const withLora = text.replace(
      'max_model_len: 64',
      'max_model_len: 64\n  lora_configs: [{lora_rank: 4, target_modules: [q_proj, up_proj]}]',
    );
    const [plain, lora] = [text, withLora].map(
      (file) => planConfig(parse(cwd, file).config).stages[0]?.memory,
    );
    const once = plain?.weights ?? 0;
    const adapter = (2 * 4 * (64 + 4 * 16 + 64 + 128) * 4) / 2 ** 20;
    expect(lora).toMatchObject({
      weights: once + adapter,
      copies: 2 * once,
      gradients: adapter,
      moments: 2 * adapter,
    });
  });

  it('counts quantised weights twice, as they are stored and packed, and never as numbers', () => {
    const [plain, ...rounded] = ['none', 'int8', 'int4'].map((kind) => {
      const keys = `max_model_len: 64\n  quantization: ${kind}\n  lora_configs: [{lora_rank: 4}]`;
      return planConfig(parse(cwd, text.replace('max_model_len: 64', keys)).config).stages[0]
        ?.memory;
    });
    const adapter = plain?.gradients ?? 0;
    const once = (plain?.weights ?? 0) - adapter;
    for (const [i, bytes] of [1.125, 0.625].entries())
      expect(rounded[i]).toMatchObject({
        weights: expect.closeTo((once * bytes) / 4 + adapter, 9) as number,
        // The runtime packs a scale and a sum per block of 32.
        copies: expect.closeTo((once * (bytes + 1 / 8)) / 4 + 2 * adapter, 9) as number,
        gradients: adapter,
      });
  });

  it('counts the tables of a GGUF file as they are stored, and other weights as they are loaded', async () => {
    await writeGemma4File(join(cwd, 'gemma4.gguf'));
    const keys = 'max_model_len: 64\n  lora_configs: [{lora_rank: 4}]';
    const ofFile = text.replace('./tiny', './gemma4.gguf').replace('max_model_len: 64', keys);
    const memory = planConfig(parse(cwd, ofFile).config).stages[0]?.memory;
    const adapter = memory?.gradients ?? 0;
    const [D, L, V] = [32, 2, 28];
    const table = V * L * D * (34 / 32);
    const matrices = V * D + L * (4 * D * D + 3 * D * 2 * D + 2 * D * D);
    const numbers = L * D * D + 2 * D + L * (7 * D + 1) + D / 2;
    expect(memory?.weights).toBeCloseTo(
      (table + 1.125 * matrices + 4 * numbers) / 2 ** 20 + adapter,
      9,
    );
    expect(memory?.copies).toBeCloseTo((1.25 * matrices + 4 * numbers) / 2 ** 20 + 2 * adapter, 9);
    const layer = (memory?.parameters ?? 0) - V * L * D;
    expect(memory?.activations).toBeGreaterThan((2 * 4 * layer) / L / 2 ** 20);
  });

  it('counts one engine for each folder of auxiliary models', () => {
    const models = [
      '{name: a, model_path: ./tiny}',
      '{name: b, model_path: ./tiny}',
      '{name: c, model_path: m, base_url: http://x.test/v1}',
    ];
    const memory = planConfig(
      parse(
        cwd,
        text.replace('explorer: {', `explorer: {auxiliary_models: [${models.join(', ')}], `),
      ).config,
    ).stages[0]?.memory;
    expect(memory?.auxiliary).toBeCloseTo((memory?.weights ?? 0) + (memory?.keyValueCache ?? 0), 9);
  });

  it('counts one row where the budget is less, and no more than the batch where it is more', () => {
    const activations = (budget: number): number => {
      const memory = planConfig(
        parse(
          cwd,
          text.replace('max_model_len: 64', `max_model_len: 512\n  memory_budget_mb: ${budget}`),
        ).config,
      ).stages[0]?.memory;
      return memory?.activations ?? 0;
    };
    const row = activations(16) > 16 ? activations(16) : activations(100_000) / 16;
    expect(row).toBeGreaterThan(16);
    expect(activations(100)).toBe(100);
    expect(activations(100_000)).toBeCloseTo(16 * row, 9);
  });

  it('counts the parameters of Qwen3-0.6B as its authors do: 0.6 billion', () => {
    const shape = {
      modelType: 'qwen3',
      vocabSize: 151_936,
      hiddenSize: 1024,
      intermediateSize: 3072,
      layers: 28,
      convolutions: 0,
      heads: 16,
      keyValueHeads: 8,
      headDim: 128,
      tiedEmbeddings: true,
      maxPositions: 40_960,
    };
    // 596,049,920 with the norms of query and key heads.
    expect(Math.abs(countParameters(shape) / 596_049_920 - 1)).toBeLessThan(1e-4);
    expect(modelShape.tie_word_embeddings).toBe(true);
  });

  it('counts the parameters of Qwen3-30B-A3B as its authors do: 30.5 billion', () => {
    const shape = {
      modelType: 'qwen3_moe',
      vocabSize: 151_936,
      hiddenSize: 2048,
      intermediateSize: 6144,
      experts: { count: 128, size: 768 },
      layers: 48,
      convolutions: 0,
      heads: 32,
      keyValueHeads: 4,
      headDim: 128,
      tiedEmbeddings: false,
      maxPositions: 40_960,
    };
    expect(Math.abs(countParameters(shape) / 30_532_122_624 - 1)).toBeLessThan(1e-4);
  });

  it('counts the parameters of LFM2-350M, and of an adapter of all its layers', () => {
    const lfm2 = {
      model_type: 'lfm2',
      vocab_size: 65_536,
      hidden_size: 1024,
      block_ff_dim: 6656,
      num_hidden_layers: 16,
      num_attention_heads: 16,
      num_key_value_heads: 8,
      full_attn_idxs: [2, 5, 8, 10, 12, 14],
      max_position_embeddings: 128_000,
    };
    mkdirSync(join(cwd, 'lfm2'), { recursive: true });
    writeFileSync(join(cwd, 'lfm2/config.json'), JSON.stringify(lfm2));
    const lora = '\n  lora_configs: [{lora_rank: 1}]';
    const { config } = parse(
      cwd,
      text.replace('./tiny\n  max_model_len: 64', `./lfm2\n  max_model_len: 64${lora}`),
    );
    const memory = planConfig(config).stages[0]?.memory;
    const D = 1024;
    const mixers = 10 * 4 * D * D + 6 * 3 * D * D;
    const parameters = 65_536 * D + mixers + 16 * (3 * D * 4608 + 2 * D) + D;
    expect(memory?.parameters).toBe(parameters);
    const adapter = 10 * 4 * D + 6 * (2 * D + 2 * 1.5 * D) + 16 * (2 * D + 3 * (D + 4608));
    expect(memory?.gradients).toBeCloseTo((4 * adapter) / 2 ** 20, 6);
  });

  it('counts the parameters of Qwen3.5-0.8B inside its model of images, and of an adapter', () => {
    const text_config = {
      ...{ model_type: 'qwen3_5_text', vocab_size: 248_320, hidden_size: 1024 },
      ...{ intermediate_size: 3584, num_hidden_layers: 24, num_attention_heads: 8 },
      ...{ num_key_value_heads: 2, head_dim: 256, full_attention_interval: 4 },
      ...{ linear_num_value_heads: 16, max_position_embeddings: 262_144 },
    };
    const whole = { tie_word_embeddings: true, text_config, vision_config: {} };
    mkdirSync(join(cwd, 'qwen3_5'), { recursive: true });
    writeFileSync(join(cwd, 'qwen3_5/config.json'), JSON.stringify(whole));
    const lora = '\n  lora_configs: [{lora_rank: 1, target_modules: [in_proj_qkv, q_proj]}]';
    const { config } = parse(
      cwd,
      text.replace('./tiny\n  max_model_len: 64', `./qwen3_5\n  max_model_len: 64${lora}`),
    );
    const memory = planConfig(config).stages[0]?.memory;
    const D = 1024;
    const delta = D * (6144 + 2 * 2048 + 2 * 16) + 4 * 6144;
    const attention = D * (2 * 2048 + 2 * 512 + 2048);
    const parameters = 248_320 * D + 18 * delta + 6 * attention + 24 * (3 * D * 3584 + 2 * D) + D;
    expect(memory?.parameters).toBe(parameters);
    const adapter = 18 * (D + 6144) + 6 * (D + 4096);
    expect(memory?.gradients).toBeCloseTo((4 * adapter) / 2 ** 20, 6);
  });

  it('counts the parameters of Gemma 4 E2B, its cache, and an adapter in int4', () => {
    const text_config = {
      ...{ model_type: 'gemma4_text', vocab_size: 262_144, hidden_size: 1536 },
      ...{ intermediate_size: 6144, num_hidden_layers: 35, num_attention_heads: 8 },
      ...{ num_key_value_heads: 1, head_dim: 256, global_head_dim: 512 },
      ...{ num_kv_shared_layers: 20, use_double_wide_mlp: true, max_position_embeddings: 131_072 },
      layer_types: Array.from({ length: 35 }, (_, i) =>
        i % 5 === 4 ? 'full_attention' : 'sliding_attention',
      ),
    };
    const whole = { tie_word_embeddings: true, text_config, vision_config: {}, audio_config: {} };
    mkdirSync(join(cwd, 'gemma4'), { recursive: true });
    writeFileSync(join(cwd, 'gemma4/config.json'), JSON.stringify(whole));
    const lora =
      '\n  quantization: int4\n  lora_configs: [{lora_rank: 1, target_modules: [k_proj]}]';
    const { config } = parse(
      cwd,
      text.replace('./tiny\n  max_model_len: 64', `./gemma4\n  max_model_len: 64${lora}`),
    );
    const memory = planConfig(config).stages[0]?.memory;
    // As transformers counts them: 4,628,569,379 with all norms.
    expect(Math.abs((memory?.parameters ?? 0) / 4_628_569_379 - 1)).toBeLessThan(1e-4);
    const table = 262_144 * 35 * 256;
    // The runtime packs a scale and a sum per block of 32.
    const packed = (((memory?.parameters ?? 0) - table) * 0.75) / 2 ** 20;
    expect(memory?.copies).toBeCloseTo(packed + 2 * (memory?.gradients ?? 0), 6);
    expect(memory?.gradients).toBeCloseTo((4 * (15 * 1536 + 12 * 256 + 3 * 512)) / 2 ** 20, 6);
    // 64 rollouts of 64 tokens: keys and values of 12 layers with windows and 3 without.
    const cache = (64 * 64 * 4 * 2 * (12 * 256 + 3 * 512)) / 2 ** 20;
    expect(memory?.keyValueCache).toBeCloseTo(cache, 6);
  });

  it('is shown in a few lines', () => {
    const rendered = renderPlan(
      planConfig(parse(cwd, text).config, { rows: [{ sums: 100, 'eval/held_out': 30 }] }),
    );
    expect(rendered.replaceAll(cwd, '<cwd>').replaceAll(/about .*/g, 'about ...'))
      .toMatchInlineSnapshot(`
      "plan (seed 7)
      writes to <cwd>/checkpoints/Trinity-RFT/plan

      Run: mode both, grpo
        model            <cwd>/tiny
        explore          25 steps from 100 tasks, each 8 tasks x 4 runs = 32 experiences or more
        sync             12 weight updates, staleness at most 2 explore steps
        train            50 steps of 16 runs, 2 per explore step
        evaluate         4 times, 60 runs each
        memory           about ...
        time             at most about ...
        sample_strategy  default
        advantage_fn     grpo { compare: runs, epsilon: 0.000001, duplicate_experiences: false, rank_penalty_raw_numerator: false, std_cal_level: group }
        policy_loss_fn   ppo { clip_range: 0.2, clip_ratio_c: 3, enable_sequence_masking: false, delta_sequence_masking: 0.1, fallback_to_policy_gradient: false }
        kl_loss_fn       k2 { kl_coef: 0.001, adaptive: false }
        entropy_loss_fn  default { entropy_coef: 0 }
        loss_agg_mode    token-mean
        files            log/trinity.log, monitor/metrics.jsonl, monitor/tensorboard/, buffer/experience_buffer.db, global_step_<n>/ (3 checkpoints)"
    `);
  });

  it('shows stages of supervised data and benchmarks', () => {
    const rest =
      'stages:\n  - stage_name: warm\n    mode: train\n    algorithm: {algorithm_type: sft}\n    buffer:\n      train_batch_size: 32\n      total_steps: 50\n      trainer_input: {experience_buffer: {path: ./tasks.jsonl}}\n  - stage_name: test\n    mode: bench';
    const rendered = renderPlan(
      planConfig(parse(cwd, `${text.slice(0, text.indexOf('explorer: {'))}${rest}`).config),
    );
    expect(rendered).toContain('Stage 1 of 2 warm: mode train, sft');
    expect(rendered).toContain('50 steps of 32 answers');
    expect(rendered).toContain('Stage 2 of 2 test: mode bench');
    expect(rendered).toContain('the last checkpoint of the stage before');
  });

  it('prints how the servers are started that a stage samples on', () => {
    const servers = (more: string): string =>
      text.replace(
        'explorer: {eval_interval: 10}',
        `explorer: {eval_interval: 10, rollout_model: {engine_type: vllm, base_url: [http://127.0.0.1:8001/v1, https://gpu], api_key: secret${more}}}`,
      );
    const rendered = renderPlan(planConfig(parse(cwd, servers('')).config));
    expect(rendered.replaceAll(cwd, '<cwd>')).toContain(
      [
        '  samples on       http://127.0.0.1:8001, started with',
        `                   VLLM_SERVER_DEV_MODE=1 VLLM_HTTP_TIMEOUT_KEEP_ALIVE=120 vllm serve <cwd>/tiny --host 127.0.0.1 --port 8001 --max-model-len 65 --enable-scale-out --logprobs-mode processed_logprobs --dtype bfloat16 --api-key "$VLLM_API_KEY"`,
        '  samples on       https://gpu, started with',
      ].join('\n'),
    );
    expect(rendered).not.toContain('secret');
    const more = servers(', dtype: float16, tensor_parallel_size: 4').replace(
      'max_model_len: 64',
      'max_model_len: 64\n  lora_configs: [{lora_rank: 12}]',
    );
    const whole = servers('').replace('max_model_len: 64', 'max_model_len: 512');
    const [full] = planConfig(parse(cwd, whole).config).stages[0]?.servers ?? [];
    expect(full?.command).toMatch(/^VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 .*--max-model-len 513 /);
    const [one, other] = planConfig(parse(cwd, more).config).stages[0]?.servers ?? [];
    const command = one?.command;
    expect(command).toContain('--tensor-parallel-size 4');
    expect(command).toMatch(/^VLLM_ALLOW_RUNTIME_LORA_UPDATING=True .* --max-lora-rank 16 /);
    expect(other?.command).toContain('--host 0.0.0.0 --port 443');
  });

  it('says which model answers in place of this one', () => {
    const file = text
      .replace('algorithm_type: grpo', 'algorithm_type: raft')
      .replace(
        'explorer: {eval_interval: 10}',
        'explorer: {eval_interval: 10, rollout_model: {engine_type: external, external_model_config: {model_name: big}}}',
      );
    expect(renderPlan(planConfig(parse(cwd, file).config))).toMatch(
      /answers +big at the address in OPENAI_BASE_URL; its key is in OPENAI_API_KEY\n/,
    );
  });

  it('prints how SGLang is started, and that nobody has tried', () => {
    const file = text.replace(
      'explorer: {eval_interval: 10}',
      'explorer: {eval_interval: 10, rollout_model: {engine_type: sglang, base_url: http://gpu:30000, api_key: secret}}',
    );
    const rendered = renderPlan(planConfig(parse(cwd, file).config)).replaceAll(cwd, '<cwd>');
    expect(rendered).toContain('http://gpu:30000 (never run against a real SGLang), started with');
    expect(rendered).toContain(
      'python -m sglang.launch_server --model-path <cwd>/tiny --host 0.0.0.0 --port 30000 --context-length 72 --dtype bfloat16 --enable-deterministic-inference --api-key "$SGLANG_API_KEY"',
    );
  });

  const tinker = { name: 'tinker', capabilities: engines.onnx.capabilities };
  const url = 'postgresql://trinity:hunter2@db.internal/runs';
  const remote = (model: string, more = ''): string =>
    text
      .replace('max_model_len: 64', `max_model_len: 64\n  tinker: {enable: true, rank: 12${model}}`)
      .replace('explorer: {eval_interval: 10}', `explorer: {eval_interval: 10${more}}`);
  const rowsOf = (file: string, options = {}): readonly string[] => {
    const { config } = parse(cwd, file, { engines: { ...engines, tinker } });
    const rendered = renderPlan(planConfig(config, { file: 'run.yaml', ...options }));
    expect(rendered).not.toContain('hunter2');
    return rendered.replaceAll(cwd, '<cwd>').replaceAll(/ {2,}/g, '  ').split('\n');
  };

  it.each([
    ['phi3', 'qkv_proj gate_up_proj o_proj down_proj'],
    ['lfm2', 'q_proj k_proj v_proj in_proj out_proj w1 w3 w2'],
  ])('names the linear layers of %s to the servers', (family, layers) => {
    mkdirSync(join(cwd, family), { recursive: true });
    const shape = { ...modelShape, model_type: family };
    writeFileSync(join(cwd, family, 'config.json'), JSON.stringify(shape));
    const served = text
      .replace('./tiny', `./${family}`)
      .replace('max_model_len: 64', 'max_model_len: 64\n  lora_configs: [{lora_rank: 4}]')
      .replace(
        'explorer: {eval_interval: 10}',
        'explorer: {eval_interval: 10, rollout_model: {engine_type: vllm, base_url: http://gpu}}',
      );
    expect(renderPlan(planConfig(parse(cwd, served).config))).toContain(
      `--max-lora-rank 8 --lora-target-modules ${layers}`,
    );
  });

  it('prints how a server is started that trains, and what is no longer needed here', () => {
    const rows = rowsOf(
      remote(
        ', base_url: "http://gpu-1:8000"',
        ', rollout_model: {engine_type: vllm, base_url: http://gpu-1:8001}',
      ),
    );
    const at = rows.indexOf('  trains on  http://gpu-1:8000; a TuFT server is started with');
    expect(rows.slice(at + 1, at + 4)).toEqual([
      `  echo "vllm ; sys_platform == 'never'" > no-vllm.txt`,
      `  echo '{"checkpoint_dir":"'"$PWD"'/tuft","authorized_users":{"'"$TINKER_API_KEY"'":"run"},"persistence":{"mode":"FILE","file_path":"'"$PWD"'/tuft/state.json"},"supported_models":[{"model_name":"<cwd>/tiny","model_path":"<cwd>/tiny","max_model_len":65,"capabilities":["training"],"training_backend":"hf","micro_batch_size":1,"max_lora_rank":12}]}' > tuft.yaml`,
      '  uvx --python 3.12 --overrides no-vllm.txt --from tuft==0.2.2 tuft launch --config tuft.yaml --host 0.0.0.0 --port 8000',
    ]);
    expect(rows.join('\n')).toContain('VLLM_HTTP_TIMEOUT_KEEP_ALIVE=120 vllm serve');
    expect(rows[at + 5]).toContain(' --enable-lora --max-loras 2 --max-lora-rank 16 ');
    expect(rows.join('\n')).not.toMatch(/memory|processes/);
    const skyrl = rowsOf(
      remote(
        ', base_url: "http://gpu-1:8000", server: skyrl',
        ', rollout_model: {engine_type: vllm, base_url: http://gpu-1:8001}',
      ),
    );
    const on = skyrl.indexOf('  trains on  http://gpu-1:8000; a SkyRL server is started with');
    expect(skyrl[on + 1]).toBe(
      `  uv run --no-project --python 3.12 --with 'skyrl[tinker,jax,gpu]==0.4.0' --with aiohttp --with psutil -m skyrl.tinker.api --base-model <cwd>/tiny --backend jax --backend-config '{"max_lora_adapters":4,"max_lora_rank":12,"train_micro_batch_size":4,"gradient_checkpointing":true}' --checkpoints-base "$PWD/skyrl-checkpoints" --database-url sqlite:///skyrl.db --host 0.0.0.0 --port 8000`,
    );
    const hosted =
      '  trains on  hosted Tinker, which samples as well; its key is in TINKER_API_KEY';
    expect(rowsOf(remote(''))).toContain(hosted);
    expect(rowsOf(remote(''), { env: { TINKER_BASE_URL: '' } })).toContain(hosted);
    const own = { env: { TINKER_BASE_URL: 'http://127.0.0.1:9' } };
    expect(rowsOf(remote(''), own).join('\n')).toContain('--host 127.0.0.1 --port 9');
    expect(() => rowsOf(remote(''), { env: { TINKER_BASE_URL: 'localhost' } })).toThrow(
      'TINKER_BASE_URL: got "localhost". Expected an address such as http://127.0.0.1:8000.',
    );
  });

  it('is refused where TuFT, which only trains, would have to sample', () => {
    const file = remote(', base_url: "http://gpu-1:8000", server: tuft');
    expect(() => parse(cwd, file, { engines: { ...engines, tinker } })).toThrow(
      'model.tinker.server: got "tuft", which only trains as the plan starts it',
    );
  });

  it('says which GPU holds trainer and sampler, as the arithmetic of one-gpu says', () => {
    const shapes = {
      // Qwen3-1.7B, 4B and 8B.
      small: {
        hidden_size: 2048,
        intermediate_size: 6144,
        num_hidden_layers: 28,
        tie_word_embeddings: true,
      },
      middle: {
        hidden_size: 2560,
        intermediate_size: 9728,
        num_hidden_layers: 36,
        tie_word_embeddings: true,
      },
      large: {
        hidden_size: 4096,
        intermediate_size: 12288,
        num_hidden_layers: 36,
        tie_word_embeddings: false,
      },
    };
    const heads = {
      num_key_value_heads: 8,
      head_dim: 128,
      vocab_size: 151_936,
      max_position_embeddings: 40_960,
    };
    const gpuOf = (name: keyof typeof shapes, length: number) => {
      mkdirSync(join(cwd, name), { recursive: true });
      const folder = {
        ...modelShape,
        ...heads,
        ...shapes[name],
        num_attention_heads: name === 'small' ? 16 : 32,
      };
      writeFileSync(join(cwd, name, 'config.json'), JSON.stringify(folder));
      const file = remote(
        ', base_url: "http://gpu-1:8000"',
        ', rollout_model: {engine_type: vllm, base_url: http://gpu-1:8001}',
      )
        .replace('rank: 12', 'rank: 16')
        .replace('./tiny', `./${name}`)
        .replace('max_model_len: 64', `max_model_len: ${length}`);
      const { config } = parse(cwd, file, { engines: { ...engines, tinker } });
      const gpu = planConfig(config).stages[0]?.gpu;
      return gpu && [gpu.trainer, gpu.sampler, gpu.fits.map(({ verdict }) => verdict).join(' ')];
    };
    const about = (value: number) => expect.closeTo(value, -0.3);
    expect(gpuOf('middle', 2048)).toEqual([about(14), about(19.7), 'asleep fits fits']);
    expect(gpuOf('middle', 4096)).toEqual([about(17), about(19.7), 'asleep fits fits']);
    expect(gpuOf('large', 2048)).toEqual([about(23), about(28), 'no asleep fits']);
    expect(gpuOf('large', 4096)).toEqual([about(27), about(28), 'no asleep fits']);
    expect(gpuOf('small', 2048)?.[2]).toBe('fits fits fits');
  });

  it('prints the processes of a run, and how their database is started', () => {
    const apart = text.replace(
      '  explorer_input:',
      `  trainer_input: {experience_buffer: {path: "${url}"}}\n  explorer_input:`,
    );
    const database = [
      '  meets in  the PostgreSQL database runs on db.internal:5432, started with',
      '  docker run --detach --name trinity-postgres --env POSTGRES_USER=trinity --env POSTGRES_PASSWORD --env POSTGRES_DB=runs --publish 5432:5432 --volume trinity-postgres:/var/lib/postgresql postgres:18',
    ];
    const two = [
      '  processes  trinity run run.yaml --mode train',
      '  trinity run run.yaml --mode explore --explorer-name NAME  # any number, each with a name of its own',
    ];
    expect(rowsOf(apart)).toEqual(expect.arrayContaining([...database, ...two]));
    expect(rowsOf(`mode: train\n${text}`)).toEqual(expect.arrayContaining(two));
    const supervised = rowsOf(`cluster: {explorers: 3}\n${apart}`);
    expect(supervised).toEqual(
      expect.arrayContaining([...database, '  processes  trinity run run.yaml']),
    );
    const messages = (file: string) =>
      parse(cwd, file).warnings.filter((one) => one.includes('experience_buffer.path'));
    expect(messages(`cluster: {explorers: 3}\n${apart}`)).toEqual([]);
    expect(messages(apart)).toEqual([expect.stringMatching(/Start the run with --explorers N/)]);
  });
});

describe('a plan on a server that charges', () => {
  const capabilities = {
    ...engines.onnx.capabilities,
    entropyGradient: 'none',
    entropy: false,
    valueHead: false,
    modelSection: 'model.tinker',
  } as const;
  const names = { engines: { ...engines, tinker: { name: 'tinker', capabilities } } };
  const planned = (tinker: string, algorithm = 'grpo') => {
    const file = text
      .replace('max_model_len: 64', `max_model_len: 64\n  tinker: { enable: true, ${tinker} }`)
      .replace('algorithm_type: grpo', `algorithm_type: ${algorithm}`);
    const { config } = parse(cwd, file, names);
    return planConfig(config, { rows: [{ sums: 100, 'eval/held_out': 30 }] });
  };
  const prices = 'prices: { prefill: 1, sample: 3, train: 2 }';

  it('says what it costs at most', () => {
    const plan = planned(prices);
    // 25 steps of 32 runs, and 4 evaluations of 60; 50 train steps of 16 rows of 64 tokens.
    const calls = 25 * 32 + 4 * 60;
    const trained = 50 * 16 * 64;
    const [prefill, sample] = [calls * 32 + 2 * trained, calls * 32];
    expect(plan.stages[0]?.cost).toEqual({
      parts: [
        { kind: 'prefill', tokens: prefill, price: 1 },
        { kind: 'sample', tokens: sample, price: 3 },
        { kind: 'train', tokens: trained, price: 2 },
      ],
      total: expect.closeTo((prefill + 3 * sample + 2 * trained) / 1e6, 9),
    });
    expect(renderPlan(plan)).toMatch(
      /^ {2}cost +at most \$0\.34, at one call of the model for each run: prefill 0\.136 M tokens at \$1 a million, sample 0\.0333 M tokens at \$3 a million, train 0\.0512 M/m,
    );
  });

  it('says nothing without prices, and which price is missing', () => {
    expect(planned('rank: 4').stages[0]?.cost).toBeUndefined();
    expect(renderPlan(planned('prices: { train: 2 }'))).toMatch(/\$0\.10,.*without a price/);
  });

  it('needs memory here for a critic only', () => {
    expect(renderPlan(planned(prices))).not.toContain('memory');
    expect(renderPlan(planned(prices, 'ppo'))).toMatch(/^ {2}memory +about .*: .*critic/m);
    const memory = planned(prices, 'ppo').stages[0]?.memory;
    expect(memory).toMatchObject({ weights: 0, gradients: 0, keyValueCache: 0 });
    expect(memory?.critic).toBeGreaterThan(0);
  });
});
