import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ParseConfigOptions } from '../src/index.js';
import { trainStepsOf } from '../src/internal.js';
import { createWorkspace, parse, parts, stageOf, yaml } from './workspace.js';

const cwd = createWorkspace();
const algorithm = (lines: string): string =>
  `algorithm:\n  algorithm_type: grpo\n${lines.replaceAll(/^/gm, '  ')}`;
const model = (lines: string): string =>
  `model:\n  model_path: ./tiny\n${lines.replaceAll(/^/gm, '  ')}`;

describe('the algorithm', () => {
  it.each([
    ['grpo', 2],
    ['multi_step_grpo', 8],
  ])('%s declares its group size', (name, repeatTimes) => {
    const stage = stageOf(cwd, yaml({ algorithm: `algorithm:\n  algorithm_type: ${name}` }));
    expect(stage.algorithm.repeatTimes).toBe(repeatTimes);
    expect(stage.buffer.trainBatchSize).toBe(repeatTimes);
    expect(stage.buffer.explorerInput.tasksets[0]?.repeatTimes).toBe(repeatTimes);
  });

  it('takes partial arguments and keeps the other defaults', () => {
    const stage = stageOf(
      cwd,
      yaml({
        algorithm: algorithm(
          'policy_loss_fn_args: {clip_range_high: 0.28}\nadvantage_fn_args: {std_threshold: 0}\nkl_loss_fn_args: {kl_coef: 0.1}\nentropy_loss_fn_args: {entropy_coef: 0.01}',
        ),
      }),
    );
    expect(stage.algorithm.policyLossFn.args).toEqual({
      clipRange: 0.2,
      clipRangeHigh: 0.28,
      clipRatioC: 3,
      enableSequenceMasking: false,
      deltaSequenceMasking: 0.1,
      fallbackToPolicyGradient: false,
    });
    expect(stage.algorithm.advantageFn?.args).toMatchObject({
      epsilon: 1e-6,
      stdThreshold: 0,
      duplicateExperiences: false,
      stdCalLevel: 'group',
    });
    expect(stage.algorithm.advantageFn?.args).not.toHaveProperty('rankPenalty');
    expect(stage.algorithm.klLossFn).toEqual({
      name: 'k2',
      args: { klCoef: 0.1, adaptive: false },
    });
    expect(stage.algorithm.entropyLossFn).toEqual({ name: 'default', args: { entropyCoef: 0.01 } });
  });

  it.each(['none', 'k1', 'k2', 'k3', 'low_var_kl', 'abs', 'corrected_k3'])(
    'takes the KL term %s',
    (name) => {
      expect(
        stageOf(cwd, yaml({ algorithm: algorithm(`kl_loss_fn: ${name}`) })).algorithm.klLossFn,
      ).toEqual({
        name,
        args: { klCoef: 0.001, adaptive: false },
      });
    },
  );

  it.each([
    ['loss_agg_mode: seq-mean-token-sum', 'seq-mean-token-sum'],
    [
      'loss_agg_mode: seq-mean-token-sum-norm\npolicy_loss_fn_args: {loss_agg_mode: seq-mean-token-sum-norm}',
      'seq-mean-token-sum-norm',
    ],
    ['repeat_times: 2', 'token-mean'],
  ])('aggregates as said: %s', (lines, mode) => {
    expect(stageOf(cwd, yaml({ algorithm: algorithm(lines) })).algorithm.lossAggMode).toBe(mode);
  });

  it.each([
    ['', '', 1],
    ['optimizer: {clip_grad: 0.5}', '', 0.5],
    ['', 'trainer:\n  grad_clip: 0.2', 0.2],
    ['optimizer: {clip_grad: 0.3}', 'trainer:\n  grad_clip: 0.3', 0.3],
  ])('clips gradients as said: %s %s', (optimizer, rest, expected) => {
    expect(
      stageOf(cwd, yaml({ algorithm: algorithm(optimizer || 'repeat_times: 2'), rest })).algorithm
        .optimizer.clipGradNorm,
    ).toBe(expected);
  });

  it('counts warm-up steps, or leaves them to the ratio', () => {
    const steps = (lines: string): unknown =>
      stageOf(cwd, yaml({ algorithm: algorithm(lines) })).algorithm.optimizer.lrWarmupSteps;
    expect([
      steps('optimizer: {lr_warmup_steps: 5}'),
      steps('optimizer: {lr_warmup_steps: 0}'),
      steps('repeat_times: 2'),
    ]).toEqual([5, 0, undefined]);
  });
});

describe('lengths', () => {
  it.each([
    ['max_model_len: 64', [64, 32, 32]],
    ['max_model_len: 65', [65, 32, 33]],
    ['max_model_len: 64\nmax_prompt_tokens: 48', [64, 48, 16]],
    ['max_model_len: 64\nmax_response_tokens: 60', [64, 4, 60]],
    ['max_prompt_tokens: 48\nmax_response_tokens: 24', [72, 48, 24]],
    ['max_model_len: 100\nmax_prompt_tokens: 48\nmax_response_tokens: 24', [100, 48, 24]],
    ['max_response_tokens: 100', [512, 412, 100]],
    ['temperature: 1', [512, 256, 256]],
  ])('are completed: %s', (lines, expected) => {
    const { maxModelLen, maxPromptTokens, maxResponseTokens } = stageOf(
      cwd,
      yaml({ model: model(lines) }),
    ).model;
    expect([maxModelLen, maxPromptTokens, maxResponseTokens]).toEqual(expected);
  });

  it('of rollouts are those of the model, unless they are set', () => {
    const lengths = (rollout: string): unknown => {
      const { maxModelLen, maxPromptTokens, maxResponseTokens } = stageOf(
        cwd,
        yaml({ model: model('max_model_len: 64'), rest: `explorer:\n  rollout_model: ${rollout}` }),
      ).explorer.rolloutModel;
      return [maxModelLen, maxPromptTokens, maxResponseTokens];
    };
    expect(lengths('{}')).toEqual([64, 32, 32]);
    expect(lengths('{max_model_len: 32}')).toEqual([32, 16, 16]);
    expect(lengths('{max_response_tokens: 8}')).toEqual([64, 56, 8]);
  });

  it('and sampling of the model reach rollouts, tasks and formats', () => {
    const stage = stageOf(
      cwd,
      yaml({
        model: model(
          'temperature: 0.5\ntop_k: 7\nenable_thinking: false\nchat_template_path: template.jinja',
        ),
      }),
    );
    expect(stage.explorer.rolloutModel).toMatchObject({
      temperature: 0.5,
      topK: 7,
      enableThinking: false,
      chatTemplate: '{{ messages[0].content }}',
    });
    expect(stage.buffer.explorerInput.tasksets[0]).toMatchObject({
      rolloutArgs: { temperature: 0.5, topK: 7 },
      format: { enableThinking: false, chatTemplate: '{{ messages[0].content }}' },
    });
  });

  it('of the rollout model reach every task set', () => {
    const stage = stageOf(
      cwd,
      yaml({
        model: model('temperature: 0.5\ntop_k: 7\nmax_model_len: 64\nmax_response_tokens: 16'),
        buffer:
          'buffer:\n  explorer_input:\n    default_workflow_type: w\n    tasksets: [{path: tasks.jsonl}]\n    eval_tasksets: [{path: tasks.jsonl, rollout_args: {top_p: 1}}]',
        rest: 'explorer:\n  rollout_model: {temperature: 0.7, top_p: 0.9, max_response_tokens: 8}',
      }),
    );
    const { tasksets, evalTasksets } = stage.buffer.explorerInput;
    const rolloutArgs = { temperature: 0.7, topP: 0.9, topK: 7, maxTokens: 8 };
    expect(tasksets[0]).toMatchObject({ rolloutArgs });
    expect(evalTasksets[0]).toMatchObject({ rolloutArgs: { ...rolloutArgs, topP: 1 } });
  });

  it('reach auxiliary models, which may have their own', () => {
    const rest = `explorer:
  auxiliary_models:
    - {model_path: ./tiny}
    - {name: judge, model_path: big, base_url: http://localhost:1/v1/, api_key: "\${oc.env:JUDGE_KEY}", temperature: 0, max_response_tokens: 100}
    - {name: long, model_path: ./tiny, max_prompt_tokens: 200, max_response_tokens: 50}`;
    const file = yaml({
      model: model('max_model_len: 64\ntop_k: 7\nchat_template_path: template.jinja'),
      rest,
    });
    const [twin, judge, long] = stageOf(cwd, file, { env: { JUDGE_KEY: 'secret-of-mine' } })
      .explorer.auxiliaryModels;
    const lengths = { maxModelLen: 64, maxPromptTokens: 32, maxResponseTokens: 32 };
    expect(twin).toMatchObject({
      name: './tiny',
      source: { kind: 'folder', modelPath: join(cwd, 'tiny') },
      topK: 7,
      ...lengths,
    });
    expect(twin?.chatTemplate).toBeUndefined();
    const source = {
      kind: 'remote',
      baseUrl: 'http://localhost:1/v1',
      apiKey: 'secret-of-mine',
      modelPath: 'big',
    };
    expect(judge).toMatchObject({
      name: 'judge',
      source,
      temperature: 0,
      topK: 7,
      maxResponseTokens: 100,
    });
    expect(long).toMatchObject({ maxModelLen: 250, maxPromptTokens: 200, maxResponseTokens: 50 });
  });

  it('never show the key of an auxiliary model in a warning', () => {
    const rest =
      'explorer:\n  auxiliary_models: [{model_path: big, base_url: http://localhost:1/v1, api_key: "${oc.env:JUDGE_KEY}", dtype: x}]';
    const { warnings } = parse(cwd, yaml({ rest }), {
      env: { JUDGE_KEY: 'secret-of-mine' },
    });
    expect(warnings).toHaveLength(1);
    expect(warnings.join()).not.toContain('secret-of-mine');
  });

  it('prefer the template file over the inline text, with a warning', () => {
    const loaded = parse(
      cwd,
      yaml({ model: model('chat_template_path: template.jinja\ncustom_chat_template: inline') }),
    );
    expect(loaded.config.stages[0].model.chatTemplate).toBe('{{ messages[0].content }}');
    expect(loaded.warnings[0]).toContain('chat_template_path is set too, and takes precedence');
  });
});

describe('an adapter', () => {
  const lora = (text: string) =>
    stageOf(cwd, yaml({ model: model(`lora_configs: [${text}]`) })).model.lora;

  it('is new unless a folder is given, which then decides', () => {
    expect(lora('{}')).toEqual({
      name: undefined,
      path: undefined,
      rank: 32,
      alpha: 32,
      targetModules: 'all-linear',
    });
    expect(lora('{path: ./adapter, name: mine}')).toEqual({
      name: 'mine',
      path: join(cwd, 'adapter'),
    });
    expect(lora('{path: ./adapter, lora_rank: 8, lora_alpha: 16}')).toEqual({
      name: undefined,
      path: join(cwd, 'adapter'),
    });
  });

  it('has the layers that are named and not left out', () => {
    expect(lora('{target_modules: "q_proj, v_proj"}')).toMatchObject({
      targetModules: ['q_proj', 'v_proj'],
    });
    expect(lora('{exclude_modules: [o_proj, up_proj]}')).toMatchObject({
      targetModules: ['q_proj', 'k_proj', 'v_proj', 'gate_proj', 'down_proj'],
    });
    const { warnings } = parse(
      cwd,
      yaml({ model: model('lora_configs: [{path: ./adapter, target_modules: q_proj}]') }),
    );
    expect(warnings[0]).toContain('The folder of the adapter names its layers');
  });
});

describe('the loop', () => {
  it.each([
    ['eval_interval: 100', 1, 100],
    ['eval_interval: 100', 3, 99],
    ['eval_interval: 2', 5, 5],
    ['eval_interval: 0', 5, undefined],
    ['max_timeout: 60', 30, 90],
  ])('evaluates where weights move: %s with sync_interval %d', (line, interval, expected) => {
    const loaded = parse(
      cwd,
      yaml({ rest: `explorer:\n  ${line}\nsynchronizer:\n  sync_interval: ${interval}` }),
    );
    expect(loaded.config.stages[0].explorer.evalInterval).toBe(expected);
    const changed =
      line.startsWith('eval') && expected !== undefined && !line.endsWith(` ${expected}`);
    expect(loaded.warnings).toHaveLength(changed ? 1 : 0);
  });

  it('runs everything of a step at once, or as many tasks as runners are given', () => {
    const concurrency = (rest: string): number =>
      stageOf(
        cwd,
        yaml({
          buffer: parts.buffer.replace('buffer:', 'buffer:\n  batch_size: 20'),
          algorithm: algorithm('repeat_times: 4'),
          rest,
        }),
      ).explorer.concurrency;
    expect(concurrency('')).toBe(80);
    expect(stageOf(cwd, yaml()).explorer.concurrency).toBe(64);
    expect(concurrency('explorer:\n  runner_per_model: 2')).toBe(8);
    expect(concurrency('explorer:\n  runner_num: 3')).toBe(12);
  });

  it('trains once per explore step, on runs, and says so where the file asks otherwise', () => {
    const parsed = (batch: string, rest = '') =>
      parse(
        cwd,
        yaml({
          buffer: parts.buffer.replace('buffer:', `buffer:\n  batch_size: 4\n${batch}`),
          rest,
        }),
      );
    const batchOf = (batch: string) => parsed(batch).config.stages[0]!.buffer.trainBatch;
    const perStep = { size: 8, own: 8, unit: 'runs', perExploreStep: 8 };
    expect(batchOf('')).toEqual(perStep);
    expect(batchOf('  train_batch_size: 8')).toEqual(perStep);
    expect(batchOf('  train_batch_unit: tasks')).toEqual({
      size: 4,
      own: 4,
      unit: 'tasks',
      perExploreStep: 4,
    });
    expect(parsed('').warnings).toEqual([]);
    const cut = '  train_batch_size: 3';
    expect(parsed(cut).warnings[0]).toMatch(
      /8 runs \(batch_size 4 x repeat_times 2\), so each is trained on in 3 train steps. sample.staleness then reaches 2, /,
    );
    expect(parsed(cut, 'synchronizer: {sync_interval: 2, sync_offset: 1}').warnings[0]).toContain(
      'reaches 8, ',
    );
    expect(parsed('  train_batch_size: 20').warnings[0]).toContain('waits for 3 of them');
    const raftOf = (batch: string) =>
      parse(
        cwd,
        yaml({
          algorithm: 'algorithm: {algorithm_type: raft}',
          buffer: parts.buffer.replace('buffer:', `buffer:\n  batch_size: 6\n${batch}`),
        }),
      );
    const raft = raftOf('  train_batch_size: 1');
    expect(raft.warnings[0]).toMatch(
      /24 runs .*, of which 6 are kept, so each is trained on in 6 train steps. sample.staleness then reaches 5, /,
    );
    expect(trainStepsOf(raft.config.stages[0].buffer.trainBatch, 2)).toBe(12);
    const large = raftOf('  train_batch_size: 30').config.stages[0];
    expect(trainStepsOf(large.buffer.trainBatch, 10)).toBe(5);
    expect(raftOf('  train_batch_size: 1\n  train_batch_unit: experiences').warnings[0]).toMatch(
      /24 runs .* of one or more experiences, of which 6 are kept, so it is .* 6 train steps or more/,
    );
    expect(parsed('  train_batch_unit: experiences').warnings[0]).toMatch(
      /^run.yaml:\d+:\d+ buffer.train_batch_unit: .*1 train step or more/,
    );
  });

  it('names files of the buffer as asked', () => {
    const buffer = (lines: string): unknown =>
      stageOf(
        cwd,
        yaml({ buffer: `${parts.buffer}\n  trainer_input:\n    experience_buffer: ${lines}` }),
      ).buffer.trainerInput.experienceBuffer;
    const own = join(cwd, 'checkpoints/Trinity-RFT/rft/buffer');
    expect(buffer('{}')).toMatchObject({ storage: 'sqlite', path: `${own}/experience_buffer.db` });
    expect(buffer('{storage: memory}')).toMatchObject({ storage: 'memory', path: undefined });
    expect(buffer('{storage_type: sql}')).toMatchObject({
      storageType: 'sql',
      path: `${own}/experience_buffer.db`,
    });
    expect(buffer('{storage_type: sql, path: "sqlite:///mine/a.db"}')).toMatchObject({
      path: join(cwd, 'mine/a.db'),
    });
    expect(buffer('{storage_type: sql, path: "sqlite:////data/a.db"}')).toMatchObject({
      path: '/data/a.db',
    });
    expect(buffer('{storage_type: file}')).toMatchObject({
      storageType: 'queue',
      storage: 'sqlite',
    });
  });

  it('passes environment variables on as text', () => {
    expect(
      stageOf(
        cwd,
        yaml({
          rest: 'explorer:\n  env_vars: {PORT: 8080, VERSION: 1.10, ZIP: 00123, ID: 12345678901234567890, DEBUG: true, HOME: /tmp, NONE: }',
        }),
      ).explorer.envVars,
    ).toEqual({
      PORT: '8080',
      VERSION: '1.10',
      ZIP: '00123',
      ID: '12345678901234567890',
      DEBUG: 'true',
      HOME: '/tmp',
      NONE: '',
    });
  });

  it.each([
    ['DEBUG', 'debug'],
    ['info', 'info'],
    ['warn', 'warn'],
    ['WARNING', 'warn'],
    ['ERROR', 'error'],
  ])('logs at %s', (level, expected) => {
    expect(stageOf(cwd, yaml({ rest: `log:\n  level: ${level}` })).log.level).toBe(expected);
  });

  it('lets supervised learning run with every default, save_interval 0 too', () => {
    const text = yaml({
      top: 'mode: train',
      algorithm: 'algorithm:\n  algorithm_type: sft',
      buffer:
        'buffer:\n  train_batch_size: 32\n  trainer_input:\n    experience_buffer: {path: ./tasks.jsonl, format: {prompt_type: plaintext}}',
      rest: 'trainer:\n  save_interval: 0',
    });
    const { config, warnings } = parse(cwd, text);
    expect(warnings).toEqual([]);
    expect(config.stages[0]).toMatchObject({
      mode: 'train',
      algorithm: {
        algorithmType: 'sft',
        repeatTimes: 1,
        needsRollouts: false,
        advantageFn: undefined,
        policyLossFn: { name: 'sft' },
        klLossFn: { name: 'none' },
        entropyLossFn: { name: 'none' },
      },
      trainer: { saveInterval: undefined },
      buffer: {
        trainBatchSize: 32,
        trainerInput: {
          experienceBuffer: {
            storageType: 'file',
            path: join(cwd, 'tasks.jsonl'),
            isLocal: true,
            format: { promptType: 'plaintext' },
          },
        },
      },
    });
  });

  it('trains on stored experiences that are there', () => {
    writeFileSync(join(cwd, 'old.db'), '');
    const text = yaml({
      top: 'mode: train',
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input:\n    experience_buffer: {storage_type: sql, path: "sqlite:///old.db"}',
    });
    expect(stageOf(cwd, text).buffer.trainerInput.experienceBuffer).toMatchObject({
      storageType: 'sql',
      path: join(cwd, 'old.db'),
    });
  });

  it('goes on beside explorers where the store of the run is in another folder', () => {
    const text = yaml({
      top: 'mode: train',
      buffer: `${parts.buffer}\n  trainer_input:\n    experience_buffer: {storage_type: queue, path: "sqlite:///shared/run.db"}`,
    });
    const { part, jobDirectory, runStore } = stageOf(cwd, text);
    expect([part, runStore]).toEqual(['train', join(cwd, 'shared/run.db')]);
    for (const file of [runStore, join(jobDirectory, 'buffer/experience_buffer.db')]) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, '');
    }
    expect(stageOf(cwd, text)).toMatchObject({ part, runStore });
  });

  it('serves on the loopback address, keeps what it takes, and needs no tasks', () => {
    const text = yaml({ top: 'mode: serve', buffer: 'buffer:\n  train_batch_size: 4' });
    const { explorer, buffer } = stageOf(cwd, text);
    expect(explorer.serve).toEqual({
      host: '127.0.0.1',
      port: 8010,
      corsOrigins: [],
      checkIntervalMs: 60_000,
    });
    expect([buffer.explorerInput.tasksets, buffer.trainBatchSize]).toEqual([[], 4]);
    const forgets = text.replace(
      'train_batch_size: 4',
      'trainer_input: {experience_buffer: {storage: memory}}',
    );
    expect(() => stageOf(cwd, forgets)).toThrow(/must keep its experiences/);
  });
});

describe('the folder of the run', () => {
  it('is root, project, group and name', () => {
    const { config } = parse(
      cwd,
      yaml({ top: 'project: p\ngroup: g\nname: n\ncheckpoint_root_dir: runs' }),
    );
    expect(config).toMatchObject({
      checkpointRootDir: join(cwd, 'runs'),
      jobDirectory: join(cwd, 'runs/p/g/n'),
      resume: false,
    });
    expect(config.stages[0]).toMatchObject({
      name: 'n',
      stageName: undefined,
      jobDirectory: join(cwd, 'runs/p/g/n'),
      monitor: { directory: join(cwd, 'runs/p/g/n/monitor') },
      log: { directory: join(cwd, 'runs/p/g/n/log') },
    });
  });

  it('is continued when it has content, or gets the time into its name', () => {
    mkdirSync(join(cwd, 'used/p/n'), { recursive: true });
    const top = 'checkpoint_root_dir: used\nproject: p\nname: n';
    expect(parse(cwd, yaml({ top })).config).toMatchObject({ resume: false, name: 'n' });
    writeFileSync(join(cwd, 'used/p/n/x'), '');
    expect(parse(cwd, yaml({ top })).config).toMatchObject({ resume: true, name: 'n' });
    const fresh = yaml({ top: `${top}\ncontinue_from_checkpoint: false` });
    const timestamp = '20260701093000';
    expect(parse(cwd, fresh, { timestamp }).config).toMatchObject({
      resume: false,
      continues: false,
      name: `n_${timestamp}`,
      jobDirectory: join(cwd, `used/p/n_${timestamp}`),
    });
  });

  it('is the newest of its name where no run starts, and the chosen one where one has begun', () => {
    const top = 'checkpoint_root_dir: newest\nproject: p\nname: g/n';
    const text = yaml({ top: `${top}\ncontinue_from_checkpoint: false` });
    const nameOf = (options: Partial<ParseConfigOptions> = {}, file = text): string =>
      parse(cwd, file, options).config.name;
    expect(nameOf()).toBe('g/n');
    for (const name of ['n', 'n_20260701093000', 'n_20260702093000', 'n_other', 'no']) {
      mkdirSync(join(cwd, 'newest/p/g', name), { recursive: true });
      writeFileSync(join(cwd, 'newest/p/g', name, 'x'), '');
    }
    mkdirSync(join(cwd, 'newest/p/g/n_20260703093000'));
    expect(nameOf()).toBe('g/n_20260702093000');
    expect(nameOf({}, yaml({ top }))).toBe('g/n');
    expect(nameOf({ timestamp: '20260704093000' })).toBe('g/n_20260704093000');
    const explore = { mode: 'explore' };
    for (const overrides of [explore, {}])
      expect(parse(cwd, text, { overrides }).config.continues).toBe('mode' in overrides);
    expect(nameOf({ timestamp: '20260704093000', overrides: explore })).toBe('g/n_20260702093000');
    for (const overrides of [explore, { mode: 'train' }])
      expect(nameOf({ timestamp: '20260704093000', runName: 'g/n', overrides })).toBe('g/n');
  });

  it('is continued by a benchmark whatever the file says', () => {
    mkdirSync(join(cwd, 'bench/p/n'), { recursive: true });
    writeFileSync(join(cwd, 'bench/p/n/x'), '');
    const text = yaml({
      top: 'mode: bench\ncheckpoint_root_dir: bench\nproject: p\nname: n\ncontinue_from_checkpoint: false',
      buffer:
        'buffer:\n  explorer_input:\n    eval_tasksets: [{path: ./tasks.jsonl, default_workflow_type: w}]',
    });
    expect(parse(cwd, text, { timestamp: 't' }).config).toMatchObject({ resume: true, name: 'n' });
  });
});
