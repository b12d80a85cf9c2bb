import { describe, expect, it } from 'vitest';
import type { EngineCapabilities } from '@trinity-rft/core/engine';
import { configJsonSchema } from '../src/index.js';
import { createWorkspace, engines, problems, stageOf, parse, yaml } from './workspace.js';

const cwd = createWorkspace();

/** The embedded engine, and another engine with fewer capabilities. */
const withOther = (capabilities: Partial<EngineCapabilities> = {}) => ({
  engines: {
    ...engines,
    other: {
      name: 'other',
      capabilities: { ...engines.onnx.capabilities, ...capabilities },
    },
  },
});

const trainer = (name: string): string => `trainer:\n  trainer_type: ${name}`;
const sampler = (name: string): string => `explorer:\n  rollout_model:\n    engine_type: ${name}`;

describe('the engine of a stage', () => {
  it.each([
    ['', 'onnx'],
    [trainer('other'), 'other'],
    [trainer('Other'), 'other'],
    [sampler('other'), 'other'],
    [`${trainer('other')}\n${sampler('other')}`, 'other'],
    [`${trainer('verl')}\n${sampler('vllm')}`, 'onnx'],
    [`${trainer('other')}\n${sampler('vllm')}`, 'other'],
  ])('follows from trainer_type and engine_type: %j', (rest, engine) => {
    expect(stageOf(cwd, yaml({ rest }), withOther())).toMatchObject({ engine });
  });

  it('is the first of the table when no key names one', () => {
    const { other, onnx } = withOther().engines;
    expect(stageOf(cwd, yaml(), { engines: { other, onnx } })).toMatchObject({ engine: 'other' });
  });

  it('both trains and samples', () => {
    const [problem] = problems(
      cwd,
      yaml({ rest: `${trainer('onnx')}\n${sampler('other')}` }),
      withOther(),
    );
    expect(problem).toMatchObject({
      key: 'explorer.rollout_model.engine_type',
      message:
        'got "other", but trainer.trainer_type is "onnx", and one engine trains and samples. Remove one of the two keys.',
    });
  });

  it('is one of the table', () => {
    expect(problems(cwd, yaml({ rest: trainer('other') }))[0]).toMatchObject({
      key: 'trainer.trainer_type',
      message: 'got "other", expected one of onnx, verl, tinker.',
    });
  });

  it('can have a name that is otherwise ignored or not supported', () => {
    const tinker = { name: 'tinker', capabilities: engines.onnx.capabilities };
    const { config, warnings } = parse(cwd, yaml({ rest: trainer('tinker') }), {
      engines: { ...engines, tinker },
    });
    expect([config.stages[0].engine, warnings]).toEqual(['tinker', []]);
  });

  it('is a choice of the JSON Schema', () => {
    expect(JSON.stringify(configJsonSchema(withOther()))).toContain('["onnx","other","verl"');
  });
});

describe('auxiliary models', () => {
  const model = (engine: string): string =>
    `${trainer('other')}\nexplorer:\n  auxiliary_models:\n    - model_path: ./tiny${engine}`;

  it.each([
    ['', 'other'],
    ['\n      engine_type: onnx', 'onnx'],
    ['\n      engine_type: vllm', 'other'],
  ])('run on the engine that they name, else on that of the stage: %j', (own, engine) => {
    const [auxiliary] = stageOf(cwd, yaml({ rest: model(own) }), withOther()).explorer
      .auxiliaryModels;
    expect(auxiliary?.source).toMatchObject({ kind: 'folder', engine });
  });
});

describe('an algorithm that needs more than its engine can do', () => {
  const ppo = 'algorithm:\n  algorithm_type: ppo';
  const grpo = 'algorithm:\n  algorithm_type: grpo';

  it.each([
    [
      { referenceModel: false },
      `${grpo}\n  kl_loss_fn: k2`,
      'algorithm.kl_loss_fn',
      'the engine "other" keeps none',
    ],
    [
      { entropyGradient: 'none' },
      `${grpo}\n  entropy_loss_fn_args: {entropy_coef: 0.1}`,
      'algorithm.entropy_loss_fn_args',
      'the engine "other" cannot',
    ],
    [
      { necs: false },
      `${grpo}\n  advantage_fn: clipv`,
      'algorithm.advantage_fn',
      'the engine "other" computes none',
    ],
  ] as const)('is reported: %j', (capabilities, algorithm, key, message) => {
    const table = withOther(capabilities);
    const found = problems(cwd, yaml({ algorithm, rest: trainer('other') }), table);
    expect(found).toEqual([
      expect.objectContaining({ key, message: expect.stringContaining(message) }),
    ]);
    expect(problems(cwd, yaml({ algorithm }), table)).toEqual([]);
  });

  const rest = trainer('other');

  it('has its critic on another engine where its own has no value head', () => {
    const critic = (table: ReturnType<typeof withOther>): string =>
      stageOf(cwd, yaml({ algorithm: ppo, rest }), table).trainer.critic.engine;
    expect(critic(withOther())).toBe('other');
    expect(critic(withOther({ valueHead: false }))).toBe('onnx');
  });

  it('is reported where no engine has a value head', () => {
    const { other } = withOther({ valueHead: false }).engines;
    const [problem] = problems(cwd, yaml({ algorithm: ppo, rest }), { engines: { other } });
    expect(problem).toMatchObject({
      key: 'algorithm.algorithm_type',
      message: expect.stringContaining(
        'ppo estimates advantages with a critic, and the engine "other" has no value head. Choose an advantage function without a critic: advantage_fn: grpo.',
      ),
    });
  });

  it('is fine where nothing is trained', () => {
    const found = problems(
      cwd,
      yaml({ top: 'mode: bench', algorithm: ppo, rest }),
      withOther({ valueHead: false, referenceModel: false }),
    );
    expect(found.filter(({ key }) => key.startsWith('algorithm'))).toEqual([]);
  });
});

describe('what is trained', () => {
  const lora = 'model:\n  model_path: ./tiny\n  lora_configs: [{}]';

  it.each([
    [{ lora: false }, lora, 'model.lora_configs', 'trains no adapters. Remove lora_configs.'],
    [
      { fullParameter: false },
      'model:\n  model_path: ./tiny',
      'trainer.trainer_type',
      'trains adapters only. Set model.lora_configs.',
    ],
  ])('is something that the engine can train: %j', (capabilities, model, key, message) => {
    const rest = trainer('other');
    const found = problems(cwd, yaml({ model, rest }), withOther(capabilities));
    expect(found).toEqual([
      expect.objectContaining({ key, message: expect.stringContaining(message) }),
    ]);
    expect(problems(cwd, yaml({ model, rest }), withOther())).toEqual([]);
  });
});

describe('explorers in processes of their own', () => {
  it.each(['explore', 'train'])('need an engine that scores text: mode %s', (mode) => {
    const rest = `${trainer('other')}\nmode: ${mode}`;
    expect(problems(cwd, yaml({ rest }), withOther({ scoresText: false }))).toEqual([
      expect.objectContaining({
        key: 'trainer.trainer_type',
        message: expect.stringContaining('cannot prove that it samples with the trainer'),
      }),
    ]);
    expect(problems(cwd, yaml({ rest }), withOther())).toEqual([]);
  });
});

const servers = (more: string): string => `explorer:\n  rollout_model:\n    ${more}`;
const vllm = (more: string): string => servers(`engine_type: vllm_async\n    ${more}`);

describe('servers that sample beside the engine', () => {
  it('are those of base_url, with the key of api_key', () => {
    const rest = vllm(
      'base_url: [http://a:8000/v1/, http://b:8001]\n    api_key: k\n    dtype: float32\n    tensor_parallel_size: 2',
    );
    const { config, warnings } = parse(cwd, yaml({ rest }), withOther());
    expect(warnings).toEqual([]);
    expect(config.stages[0].sampler).toEqual({
      name: 'vllm',
      servers: [
        { url: 'http://a:8000', apiKey: 'k' },
        { url: 'http://b:8001', apiKey: 'k' },
      ],
      tolerance: 5e-4,
      start: {
        dtype: 'float32',
        tensorParallelSize: 2,
        gpuMemoryUtilization: 0.9,
        enforceEager: false,
      },
    });
  });

  it('are one or several, also in one word', () => {
    const { sampler: found } = stageOf(cwd, yaml({ rest: vllm('base_url: http://a,http://b') }));
    expect(found?.servers).toEqual([{ url: 'http://a' }, { url: 'http://b' }]);
  });

  it('are none where no address is given, which is said', () => {
    const rest = servers('engine_type: vllm\n    dtype: float16\n    enforce_eager: false');
    const { config, warnings } = parse(cwd, yaml({ rest }));
    expect(config.stages[0].sampler).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringContaining('The embedded engine samples instead'),
      expect.stringContaining(
        'dtype: ignored ("float16"). It is for the vLLM servers of base_url.',
      ),
    ]);
  });

  it.each([
    ['base_url: http://a', 'base_url', 'engine_type: vllm'],
    ['engine_type: vllm\n    base_url: a:8000', 'base_url', 'such as http://127.0.0.1:8000'],
    ['engine_type: vllm\n    base_url: http://u:secret@a', 'base_url', 'Move the key to api_key'],
    ['engine_type: vllm\n    base_url: http://u:secret@a:99999', 'base_url', 'Move the key to'],
    ['engine_type: vllm\n    base_url: u:secret@a', 'base_url', 'Move the key to'],
  ])('must fit: %j', (more, key, message) => {
    const [problem] = problems(cwd, yaml({ rest: servers(more) }));
    expect(problem).toMatchObject({
      key: `explorer.rollout_model.${key}`,
      message: expect.stringContaining(message),
    });
    expect(JSON.stringify(problem)).not.toContain('secret');
  });

  it('cannot restrict answers', () => {
    const rest = `explorer:\n  constrained_decoding: true\n  rollout_model:\n    engine_type: vllm\n    base_url: http://a`;
    expect(problems(cwd, yaml({ rest }))[0]).toMatchObject({
      key: 'explorer.constrained_decoding',
    });
  });
});

describe('a Tinker server', () => {
  it.each(['gpu-1:8000', 'localhost', 'http://u:secret@gpu-1', 'u:secret@gpu-1:8000'])(
    'has an address that requests can be sent to: %s',
    (address) => {
      const model = `model: {model_path: ./tiny, tinker: {base_url: "${address}"}}`;
      const [problem] = problems(cwd, yaml({ model }));
      expect(problem).toMatchObject({ key: 'model.tinker.base_url' });
      expect(JSON.stringify(problem)).not.toContain('secret');
    },
  );
});

describe('a model behind an API', () => {
  const bench = (rest: string): string =>
    yaml({
      top: 'mode: bench',
      buffer:
        'buffer: {explorer_input: {default_workflow_type: w, eval_tasksets: [{path: ./tasks.jsonl}]}}',
      rest,
    });
  const named = 'external_model_config: {model_name: big}';
  const chosen = `explorer:\n  rollout_model:\n    engine_type: external\n    ${named}`;

  it('answers where model.external_model or engine_type says so', () => {
    const env = { baseUrlEnv: 'A_URL', apiKeyEnv: 'OPENAI_API_KEY' };
    const original = 'external_model: {enable: true, model_name: big, base_url_env: A_URL}';
    const file = bench('').replace('model_path: ./tiny', `model_path: ./tiny\n  ${original}`);
    expect(stageOf(cwd, file).external).toEqual({ name: 'big', ...env });
    const own = `${chosen}\n    base_url: http://a/v1/\n    api_key: k`;
    expect(stageOf(cwd, bench(own)).external).toMatchObject({
      name: 'big',
      baseUrl: 'http://a/v1',
      apiKey: 'k',
    });
    expect(stageOf(cwd, bench('')).external).toBeUndefined();
  });

  it('is said where two sections name one', () => {
    const file = bench(chosen).replace(
      'model_path: ./tiny',
      'model_path: ./tiny\n  external_model: {enable: true, model_name: small}',
    );
    expect(stageOf(cwd, file).external).toMatchObject({ name: 'big' });
    expect(parse(cwd, file).warnings).toEqual([
      expect.stringContaining(
        'model.external_model: ignored. explorer.rollout_model.external_model_config is set.',
      ),
    ]);
  });

  const taught = (type: string): string =>
    yaml({ algorithm: `algorithm:\n  algorithm_type: ${type}`, rest: chosen });

  it.each(['grpo', 'opmd', 'mix'])('does not teach %s, which reads more than texts', (type) => {
    expect(problems(cwd, taught('raft'))).toEqual([]);
    expect(problems(cwd, taught(type))).toContainEqual(
      expect.objectContaining({
        key: 'explorer.rollout_model.engine_type',
        message: expect.stringContaining(`of ${type} learns from those of the sampler`),
      }),
    );
  });

  it.each([
    ['external_model_config: {}', 'external_model_config.model_name', 'name of the model'],
    [`${named}\n    base_url: [http://a, http://b]`, 'base_url', 'Give one'],
    [`${named}\n    base_url: http://u:hidden@a`, 'base_url', 'Move it to api_key'],
  ])('must be told: %j', (more, key, message) => {
    const rest = `explorer:\n  rollout_model:\n    engine_type: external\n    ${more}`;
    const found = problems(cwd, bench(rest));
    expect(found).toEqual([
      expect.objectContaining({
        key: `explorer.rollout_model.${key}`,
        message: expect.stringContaining(message),
      }),
    ]);
    expect(JSON.stringify(found)).not.toContain('hidden');
  });
});

describe('the correction for another sampler', () => {
  const correction = (more: string, type = 'grpo'): string =>
    `algorithm:\n  algorithm_type: ${type}\n  rollout_correction: {${more}}`;
  const resolved = (more: string) =>
    stageOf(cwd, yaml({ algorithm: correction(more) })).algorithm.rolloutCorrection;

  it('is none unless bypass_mode is false', () => {
    expect(resolved('bypass_mode: true')).toBeUndefined();
    expect(resolved('')).toBeUndefined();
    const { warnings } = parse(cwd, yaml({ algorithm: correction('rollout_is: token') }));
    expect(warnings).toEqual([expect.stringContaining('bypass_mode: false')]);
  });

  it('truncates or masks, and leaves outliers out', () => {
    expect(resolved('bypass_mode: false')).toEqual({ weights: undefined, rejections: [] });
    expect(resolved('bypass_mode: false, rollout_is: token')).toMatchObject({
      weights: { level: 'token', upper: 2, normalize: false },
    });
    const more =
      'bypass_mode: false, rollout_is: sequence, rollout_is_threshold: 0.5_2.0, rollout_is_batch_normalize: true, rollout_rs: "token_k1, seq_max_k3", rollout_rs_threshold: "0.5_1.8, 0.2"';
    expect(resolved(more)).toEqual({
      weights: { level: 'sequence', lower: 0.5, upper: 2, normalize: true },
      rejections: [
        { name: 'token_k1', lower: 0.5, upper: 1.8 },
        { name: 'seq_max_k3', upper: 0.2 },
      ],
    });
  });

  it.each(['0_2', ' 0.5_2.0 ', '.5_2.'])('reads the range "%s"', (threshold) => {
    const more = `bypass_mode: false, rollout_is: token, rollout_is_threshold: "${threshold}"`;
    const [lower, upper] = threshold.split('_').map(Number);
    expect(resolved(more)).toMatchObject({ weights: { lower, upper } });
  });

  type Wrong = [more: string, key: string, message: string];
  const aboveZero = ['rollout_is_threshold', 'a number above 0, or two'] as const;
  const aboveOne = ['rollout_rs_threshold', 'a number above 1, or two such as 0.5_2.0'] as const;

  it.each<Wrong>([
    ['rollout_rs: geometric, rollout_rs_threshold: 2', 'rollout_rs', 'expected some of token_k1'],
    ['rollout_rs: token_k1', 'rollout_rs_threshold', 'has 0 values; expected one'],
    [
      'rollout_rs: token_k2, rollout_rs_threshold: 1_2',
      'rollout_rs_threshold',
      'a number above 0.',
    ],
    ...['2.0_0.5', '0_0', '1.2.3_4', '._.', '.', '1_1', '0.5_2.0_3', '-1_2', '1e999', '0'].flatMap(
      (range): Wrong[] => [
        [`rollout_is: token, rollout_is_threshold: "${range}"`, ...aboveZero],
        [`rollout_rs: token_k1, rollout_rs_threshold: "${range}"`, ...aboveOne],
      ],
    ),
    ...['0_2', '0.5', '1'].map((range): Wrong => [
      `rollout_rs: token_k1, rollout_rs_threshold: "${range}"`,
      ...aboveOne,
    ]),
  ])('says what is wrong: %s', (more, key, message) => {
    const [problem] = problems(cwd, yaml({ algorithm: correction(`bypass_mode: false, ${more}`) }));
    expect(problem).toMatchObject({
      key: `algorithm.rollout_correction.${key}`,
      message: expect.stringContaining(message),
    });
  });
});

describe('the engine of Tinker servers', () => {
  const capabilities = {
    ...engines.onnx.capabilities,
    entropyGradient: 'none',
    entropy: false,
    anyTemperature: false,
    samplingControls: false,
    valueHead: false,
    fullParameter: false,
    lora: false,
    modelSection: 'model.tinker',
  } as const;
  const names = { engines: { ...engines, tinker: { name: 'tinker', capabilities } } };
  const model = 'model:\n  model_path: ./tiny\n  tinker: { enable: true, rank: 4 }';
  const check = (rest = '', more = '') =>
    problems(cwd, yaml({ model: `${model}${more}`, rest }), names).map(({ key }) => key);

  it('is chosen by model.tinker, and leaves out the entropy that is only reported', () => {
    expect(stageOf(cwd, yaml({ model }), names)).toMatchObject({
      engine: 'tinker',
      model: { tinker: { rank: 4, trainMlp: true, baseUrl: undefined } },
      algorithm: { entropyLossFn: { name: 'none' }, needs: { entropy: 'none' } },
    });
  });

  it.each([
    ['explorer: { constrained_decoding: true }', '', 'explorer.constrained_decoding'],
    ['', '\n  temperature: 0.7', 'model.temperature'],
    ['', '\n  min_response_tokens: 2', 'model.min_response_tokens'],
    ['', '\n  lora_configs: [{ lora_rank: 4 }]', 'model.lora_configs'],
    [trainer('onnx'), '', 'trainer.trainer_type'],
    [
      'explorer:\n  auxiliary_models: [{ model_path: ./tiny, engine_type: tinker }]',
      '',
      'explorer.auxiliary_models[0].engine_type',
    ],
  ])('cannot do %j %j', (rest, more, key) => {
    expect(check(rest, more)).toEqual([key]);
  });

  it('trains adapters that servers load which sample', () => {
    const rest = vllm('base_url: http://a:8000');
    expect(stageOf(cwd, yaml({ model, rest }), names)).toMatchObject({
      engine: 'tinker',
      sampler: { name: 'vllm' },
    });
    const unembed = model.replace('rank: 4', 'rank: 4, train_unembed: true');
    expect(problems(cwd, yaml({ model: unembed, rest }), names).map(({ key }) => key)).toEqual([
      'model.tinker.train_unembed',
    ]);
  });

  it('is refused where there is none', () => {
    expect(problems(cwd, yaml({ model }))[0]).toMatchObject({ key: 'model.tinker.enable' });
  });
});
