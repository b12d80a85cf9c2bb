import {
  builtInTables,
  createAlgorithm,
  defineAdvantage,
  defineAlgorithm,
  defineOperator,
  definePolicyLoss,
  extendTables,
} from '@trinity-rft/algorithm';
import { choiceArg, numberArg } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { algorithmReference, configJsonSchema, planConfig, type JsonSchema } from '../src/index.js';
import { createWorkspace, engines, parse, problems, stageOf, yaml } from './workspace.js';

const cwd = createWorkspace();

const buffers =
  'trainer_input:\n    experience_buffer: {path: ./tasks.jsonl}\n    auxiliary_buffers: {sft_dataset: {path: ./tasks.jsonl}}';
const explores = `buffer:\n  batch_size: 4\n  explorer_input: {taskset: {path: ./tasks.jsonl, default_workflow_type: w}}\n  ${buffers}`;
const stored = `buffer:\n  train_batch_size: 4\n  ${buffers}`;
const teacher = 'explorer: {auxiliary_models: [{name: teacher, model_path: ./tiny}]}';

/** A file with little more than the algorithm in it. */
const fileOf = (lines: string, type: string): string => {
  const isStored =
    builtInTables.presets[type]?.schema !== 'experience' &&
    Object.hasOwn(builtInTables.presets, type);
  return yaml({
    top: isStored ? 'mode: train' : '',
    algorithm: `algorithm:\n  algorithm_type: ${type}\n${lines.replaceAll(/^(?=.)/gm, '  ')}`,
    buffer: isStored ? stored : explores,
    rest: teacher,
  });
};

describe('settings without effect', () => {
  const warnings = (lines: string, type = 'grpo') =>
    parse(cwd, fileOf(lines, type)).warnings.filter((line) => / algorithm\..*: ignored/.test(line));

  it.each([
    ['policy_loss_fn: rec\npolicy_loss_fn_args: {temp: 2}', 'temp', 'weight: advantage'],
    [
      'policy_loss_fn: rec\npolicy_loss_fn_args: {epsilon_low_prime: 0.4}',
      'epsilon_low_prime',
      'clip_mode: ring, or weight: truncated_importance_sampling',
    ],
    [
      'policy_loss_fn: rec\npolicy_loss_fn_args: {regularizer: k2}',
      'regularizer',
      'regularizer_coef above 0',
    ],
    [
      'policy_loss_fn: ppo\npolicy_loss_fn_args: {delta_sequence_masking: 0.2}',
      'delta_sequence_masking',
      'enable_sequence_masking: true',
    ],
    [
      'policy_loss_fn: cispo\npolicy_loss_fn_args: {mask_clip_range_low: 0.2}',
      'mask_clip_range_low',
      'enable_mask_clip: true',
    ],
    [
      'advantage_fn_args: {epsilon: 0.1, std_cal_level: none}',
      'epsilon',
      'std_cal_level: group or batch',
    ],
    [
      'policy_loss_fn_args: {clip_range: 0.1, clip_range_low: 0.2, clip_range_high: 0.2}',
      'clip_range',
      'clip_range_low or clip_range_high left out, .*',
    ],
    [
      'policy_loss_fn_args: {enable_sequence_masking: true, fallback_to_policy_gradient: true}',
      'enable_sequence_masking',
      'fallback_to_policy_gradient: false',
    ],
    [
      'policy_loss_fn: gspo\npolicy_loss_fn_args: {clip_range: 0.1, clip_range_low: 0.2, clip_range_high: 0.2}',
      'clip_range',
      'clip_range_low or clip_range_high left out',
    ],
    ['advantage_fn: opmd\nadvantage_fn_args: {tau: 2}', 'tau', 'opmd_baseline: logavgexp'],
    ['advantage_fn: rec\nadvantage_fn_args: {epsilon: 0.1}', 'epsilon', 'std_normalize: true'],
    ['kl_penalty_fn: k1\nkl_penalty_fn_args: {target_kl: 0.1}', 'target_kl', 'adaptive: true'],
  ])('are named, with the argument that gives them one: %s', (lines, name, needed) => {
    expect(warnings(lines)).toEqual([
      expect.stringMatching(
        new RegExp(`_args\\.${name}: ignored\\. It has an effect only with ${needed}\\.$`),
      ),
    ]);
  });

  it('include batch sizes of an algorithm that normalises by kinds', () => {
    expect(warnings('policy_loss_fn_args: {ngpus_trainer: 2}', 'mix_chord')).toEqual([
      expect.stringMatching(/ngpus_trainer: ignored\. .* normalization: batch_sizes\.$/),
    ]);
  });

  it.each([
    ['kl_penalty_fn_args: {kl_coef: 0.1}', 'kl_penalty_fn'],
    ['kl_loss_fn: none\nkl_loss_fn_args: {kl_coef: 0.1}', 'kl_loss_fn'],
    ['entropy_loss_fn: none\nentropy_loss_fn_args: {entropy_coef: 0.1}', 'entropy_loss_fn'],
  ])('are named where the part is none: %s', (lines, key) => {
    expect(warnings(lines)).toEqual([
      expect.stringContaining(`${key}_args: ignored. ${key} is none`),
    ]);
  });

  it('include the norm of an aggregation that has none', () => {
    expect(warnings('loss_agg_norm: 100')).toEqual([
      expect.stringContaining('loss_agg_norm: ignored. It divides only the sums of'),
    ]);
    expect(warnings('loss_agg_norm: 100\nloss_agg_mode: seq-mean-token-sum')).toEqual([]);
    expect(
      warnings('loss_agg_norm: 100\npolicy_loss_fn_args: {loss_agg_mode: seq-mean-token-sum-norm}'),
    ).toEqual([]);
  });

  it.each([
    'policy_loss_fn: rec\npolicy_loss_fn_args: {temp: 1, epsilon_low: 0.2, regularizer: none, regularizer_coef: 0}',
    'policy_loss_fn: rec\npolicy_loss_fn_args: {clip_mode: ring, epsilon_low_prime: 0.4, weight: advantage, temp: 2, regularizer: k2, regularizer_coef: 0.1}',
    'kl_loss_fn: none\nkl_loss_fn_args: {kl_coef: 0}',
    'kl_penalty_fn_args: {}',
  ])('are not those that have one, or say what holds anyway: %s', (lines) => {
    expect(warnings(lines)).toEqual([]);
  });
});

it('does not warn of settings without effect that a stage inherits', () => {
  const shared =
    'algorithm:\n  loss_agg_norm: 100\n  loss_agg_mode: seq-mean-token-sum\n  policy_loss_fn: rec\n  policy_loss_fn_args: {regularizer: k2, regularizer_coef: 0.1}\n  kl_loss_fn_args: {kl_coef: 0.1}\n  entropy_loss_fn_args: {entropy_coef: 0.1}';
  const warned = (stage: string) =>
    parse(
      cwd,
      yaml({
        algorithm: shared,
        rest: `stages:\n  - stage_name: a\n    algorithm: {algorithm_type: grpo}\n  - stage_name: b\n    algorithm: {${stage}}`,
      }),
    ).warnings.filter((line) => line.includes(': ignored'));
  const off = 'kl_loss_fn: none, entropy_loss_fn: none, loss_agg_mode: token-mean';
  expect(warned(`${off}, policy_loss_fn_args: {regularizer_coef: 0}`)).toEqual([]);
  expect(
    warned(
      `${off}, policy_loss_fn_args: {regularizer: forward-kl, regularizer_coef: 0}, loss_agg_norm: 9`,
    ),
  ).toEqual([
    expect.stringContaining('regularizer: ignored'),
    expect.stringContaining('loss_agg_norm: ignored'),
  ]);
});

describe('an algorithm', () => {
  it.each(Object.entries(builtInTables.presets))(
    '%s is what its preset says, complete and ready to be made',
    (name, preset) => {
      const { algorithm, trainer, dataProcessor } = stageOf(cwd, fileOf('', name));
      expect(algorithm).toMatchObject({
        algorithmType: name,
        schema: preset.schema,
        repeatTimes: preset.schema === 'experience' ? preset.repeatTimes : 1,
        policyLossFn: preset.policyLossFn,
        klLossFn: preset.klLossFn,
        entropyLossFn: preset.entropyLossFn,
        sampleStrategy: preset.sampleStrategy,
        lossAggMode: preset.lossAggMode,
      });
      expect(algorithm.advantageFn?.name).toBe(preset.advantageFn?.name);
      expect(algorithm.lossAggNorm).toBe(
        preset.lossAggNorm === 'max_response_tokens' ? 256 : preset.lossAggNorm,
      );
      expect(dataProcessor.experiencePipeline.operators.map((operator) => operator.name)).toEqual(
        (preset.operators ?? []).map((operator) => operator.name),
      );
      expect(
        createAlgorithm({
          ...algorithm,
          valueLoss: { cliprangeValue: trainer.critic.cliprangeValue },
        }).needs,
      ).toEqual(algorithm.needs);
    },
  );

  it('is ppo when the file does not say, as in the original', () => {
    const { algorithm } = stageOf(cwd, yaml({ algorithm: '' }));
    expect(algorithm).toMatchObject({
      algorithmType: 'ppo',
      advantageFn: { name: 'ppo' },
      needs: { valueHead: true },
    });
  });

  it('keeps the arguments of its preset while the part stays, and takes those of the file over them', () => {
    const loss = (lines: string) => stageOf(cwd, fileOf(lines, 'dapo')).algorithm.policyLossFn;
    expect(loss('policy_loss_fn_args: {clip_ratio_c: 5}').args).toMatchObject({
      clipRangeLow: 0.2,
      clipRangeHigh: 0.28,
      clipRatioC: 5,
    });
    expect(loss('policy_loss_fn_args: {clip_range_high: 0.3}').args).toMatchObject({
      clipRangeHigh: 0.3,
    });
    expect(loss('policy_loss_fn_args: {clip_range_high: null}').args).not.toHaveProperty(
      'clipRangeHigh',
    );
    expect(loss('policy_loss_fn: gspo')).toMatchObject({
      name: 'gspo',
      args: {},
    });
  });

  it.each(['', 'loss_agg_mode: token-mean\n'])(
    'takes an aggregation of its policy loss, beside that of the rest: %s',
    (lines) => {
      const { policyLossFn, lossAggMode } = stageOf(
        cwd,
        fileOf(`${lines}policy_loss_fn_args: {loss_agg_mode: seq-mean-token-sum}`, 'grpo'),
      ).algorithm;
      expect([policyLossFn.args['lossAggMode'], lossAggMode]).toEqual([
        'seq-mean-token-sum',
        'token-mean',
      ]);
    },
  );

  it.each([
    ['loss_agg_norm: 64', 64],
    ['loss_agg_norm: "64"', 64],
    ['loss_agg_norm: max_response_tokens', 256],
    ['', undefined],
  ])('divides sums as said: %s', (lines, norm) => {
    expect(stageOf(cwd, fileOf(lines, 'grpo')).algorithm.lossAggNorm).toBe(norm);
  });

  it('reads kl_loss_fn none of dpo as the original does, with a warning', () => {
    const loaded = parse(cwd, fileOf('kl_loss_fn: none', 'dpo'));
    expect(loaded.config.stages[0].algorithm).toMatchObject({
      repeatTimes: 1,
      klLossFn: { name: 'k2' },
      needs: { pairs: true },
    });
    expect(loaded.warnings[0]).toContain('"none" is read as "k2"');
    expect(
      stageOf(cwd, fileOf('kl_loss_fn_args: {kl_coef: 0}', 'dpo')).algorithm.klLossFn.args,
    ).toMatchObject({ klCoef: 0 });
  });

  it('has the keys of a critic, which learns as the policy does where nothing else is said', () => {
    const rest =
      'trainer:\n  critic_warmup: 3\n  trainer_config:\n    critic: {cliprange_value: 0.2, optim: {lr: 1e-4}}';
    const algorithm =
      'algorithm:\n  algorithm_type: ppo\n  optimizer: {lr: 1e-3, lr_warmup_steps: 5, weight_decay: 0}';
    const { trainer, model } = stageOf(
      cwd,
      yaml({ algorithm, rest, model: 'model:\n  model_path: ./tiny\n  critic_model_path: ./tiny' }),
    );
    expect(trainer.critic).toMatchObject({
      warmupSteps: 3,
      cliprangeValue: 0.2,
      optimizer: { lr: 1e-4, lrWarmupSteps: 5, weightDecay: 0, clipGradNorm: 1 },
    });
    expect(model.criticModelPath).toBe(`${cwd}/tiny`);
    expect(stageOf(cwd, yaml({ algorithm })).trainer.critic).toMatchObject({
      cliprangeValue: 0.5,
      warmupSteps: 0,
      optimizer: { lr: 1e-3 },
    });
  });

  it.each([
    ['lr_warmup_steps_ratio: 0.5', { lrWarmupSteps: undefined, lrWarmupStepsRatio: 0.5 }],
    ['lr_warmup_steps_ratio: 0', { lrWarmupSteps: undefined, lrWarmupStepsRatio: 0 }],
    ['lr_warmup_steps: 7, lr_warmup_steps_ratio: 0.5', { lrWarmupSteps: 7 }],
    ['lr_warmup_steps: -1', { lrWarmupSteps: undefined, lrWarmupStepsRatio: 0.1 }],
    ['lr: 1e-4', { lrWarmupSteps: 5, lrWarmupStepsRatio: 0.1 }],
  ])('warms a critic up by its own settings before those of the policy: %s', (optim, expected) => {
    const algorithm =
      'algorithm:\n  algorithm_type: ppo\n  optimizer: {lr_warmup_steps: 5, lr_warmup_steps_ratio: 0.1}';
    const rest = `trainer:\n  trainer_config:\n    critic: {optim: {${optim}}}`;
    const { critic } = stageOf(cwd, yaml({ algorithm, rest })).trainer;
    expect(critic?.optimizer).toMatchObject(expected);
  });

  it('runs the operators of the file in place of its own', () => {
    const operators = (rest: string) =>
      stageOf(cwd, `${fileOf('', 'dapo')}${rest}`).dataProcessor.experiencePipeline.operators;
    const pipeline = 'data_processor:\n  experience_pipeline:\n    operators:';
    expect(operators(`${pipeline} []`)).toEqual([]);
    const { operators: printed } = algorithmReference(builtInTables).presets.find(
      ({ name }) => name === 'dapo',
    )!;
    expect(operators(`${pipeline} ${JSON.stringify(printed)}`)).toEqual(operators(''));
    expect(operators(`${pipeline}\n      - {name: reward_filter, args: {threshold: 0.5}}`)).toEqual(
      [{ name: 'reward_filter', args: expect.objectContaining({ threshold: 0.5 }) }],
    );
  });

  it('reports an argument of an operator once', () => {
    const rest =
      'data_processor:\n  experience_pipeline:\n    operators:\n      - {name: overlong_penalty, args: {max_response_length: long}}';
    expect(problems(cwd, `${fileOf('', 'grpo')}${rest}`)).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('expected a number, above 0, or max_response_tokens'),
      }),
    ]);
  });

  it('plans the memory of a critic, and less for an adapter', () => {
    const memory = (model: string, type: string) =>
      planConfig(
        parse(
          cwd,
          yaml({
            algorithm: `algorithm:\n  algorithm_type: ${type}`,
            model: `model:\n  model_path: ./tiny\n${model}`,
          }),
        ).config,
      ).stages[0]!.memory!;
    const [plain, critic, adapter] = [
      memory('', 'grpo'),
      memory('', 'ppo'),
      memory('  lora_configs: [{lora_rank: 2}]', 'grpo'),
    ];
    expect(critic.critic).toBeCloseTo(4 * plain.weights, 10);
    expect(plain.critic).toBe(0);
    // 2 layers, rank 2; 4 x (64 + 64), 64 + 32 twice, 3 x (64 + 128).
    expect(adapter.gradients * 2 ** 20).toBeCloseTo(4 * 2 * 2 * (2 * 128 + 2 * 96 + 3 * 192), 6);
    expect(adapter.total).toBeLessThan(plain.total);
  });
});

describe('what an algorithm needs', () => {
  it.each([
    [
      'advantage_fn: grpo',
      'ppo',
      'algorithm.repeat_times',
      'is not set, which means 1 for ppo, but grpo compares the runs',
    ],
    ['policy_loss_fn: dpo', 'grpo', 'algorithm.policy_loss_fn', 'has no pairs'],
    ['policy_loss_fn: sft', 'dpo', 'algorithm.policy_loss_fn', 'does not compare'],
    ['policy_loss_fn: mix', 'grpo', 'algorithm.policy_loss_fn', 'Use sample_strategy: mix'],
    ['entropy_loss_fn: mix', 'grpo', 'algorithm.entropy_loss_fn', 'the entropy loss "mix" needs'],
    ['sample_strategy: mix', 'grpo', 'algorithm.sample_strategy', 'cannot tell expert experiences'],
    [
      'kl_penalty_fn: k2\nkl_penalty_fn_args: {adaptive: true}',
      'ppo',
      'algorithm.kl_penalty_fn_args.adaptive',
      '"target_kl"',
    ],
    [
      'advantage_fn: clipb\nkl_penalty_fn: k9',
      'grpo',
      'algorithm.kl_penalty_fn',
      'expected one of none, k1',
    ],
  ])('is rejected at its key: %s of %s', (lines, type, key, message) => {
    const found = problems(cwd, fileOf(lines, type));
    expect(found.map((problem) => problem.key)).toEqual([key]);
    expect(found[0]?.message).toContain(message);
  });
});

const median = defineAdvantage({
  name: 'median',
  args: { scale: numberArg(1, { above: 0 }, 'Factor.') },
  create: () => ({ advantage: (experiences) => ({ experiences, metrics: {} }) }),
});
const mine = defineAlgorithm({
  name: 'mine',
  repeatTimes: 3,
  advantageFn: median,
  policyLossFn: definePolicyLoss({
    name: 'my_loss',
    args: { wayOut: choiceArg(['up', 'down'], 'up', 'Where to.') },
    lossMetric: 'my_loss',
    token: () => {},
  }),
  operators: [
    defineOperator({
      name: 'my_operator',
      create: () => (experiences) => ({ experiences, metrics: {} }),
    }),
  ],
});
const algorithms = extendTables(builtInTables, [mine]);

describe('algorithms of plugins', () => {
  const file = (lines: string): string =>
    yaml({ algorithm: `algorithm:\n  algorithm_type: mine\n${lines}` });

  it('are names as all others, with defaults, ranges and operators', () => {
    const { algorithm, dataProcessor } = stageOf(
      cwd,
      file('  policy_loss_fn_args: {way_out: DOWN}'),
      { algorithms },
    );
    expect(algorithm).toMatchObject({
      repeatTimes: 3,
      advantageFn: { name: 'median', args: { scale: 1 } },
      policyLossFn: { name: 'my_loss', args: { wayOut: 'down' } },
    });
    expect(dataProcessor.experiencePipeline.operators).toEqual([{ name: 'my_operator', args: {} }]);
  });

  it('have their mistakes reported with position and fix', () => {
    expect(problems(cwd, file('  advantage_fn_args: {scael: 2}'), { algorithms })[0]).toMatchObject(
      {
        line: 3,
        message: expect.stringContaining('Did you mean "scale"?'),
      },
    );
    expect(
      problems(cwd, file('  policy_loss_fn_args: {way_out: left}'), { algorithms })[0]?.message,
    ).toContain('expected one of up, down');
    expect(problems(cwd, file(''))[0]?.message).toContain('got "mine", expected one of grpo');
  });

  it('are in the JSON Schema and in the reference', () => {
    const schema = configJsonSchema({ algorithms, engines });
    const definitions = schema['definitions'] as Record<string, JsonSchema>;
    expect(definitions['advantage_fn.median']).toMatchObject({
      additionalProperties: false,
      properties: { scale: { default: 1 } },
    });
    const { presets, parts } = algorithmReference(algorithms);
    expect(presets.at(-1)).toMatchObject({ name: 'mine', advantageFn: { name: 'median' } });
    expect(parts.find(({ name }) => name === 'my_loss')?.args[0]).toEqual({
      name: 'way_out',
      type: 'up, down',
      default: 'up',
      help: 'Where to.',
    });
  });
});

describe('the reference', () => {
  const { presets, parts } = algorithmReference(builtInTables);

  it('documents every algorithm, every part and every argument', () => {
    const silent = [...presets, ...parts]
      .filter(({ summary }) => summary === '')
      .map(({ name }) => name);
    const helpless = parts.flatMap(({ key, name, args }) =>
      args.filter(({ help }) => help === '').map((arg) => `${key}: ${name}: ${arg.name}`),
    );
    expect([silent, helpless]).toEqual([[], []]);
  });

  it('names arguments as YAML does', () => {
    const names = parts.flatMap(({ args }) => args.map(({ name }) => name));
    expect(names.filter((name) => !/^[a-z][a-z0-9_]*$/.test(name))).toEqual([]);
  });

  it('has papers with addresses', () => {
    const sources = [...presets, ...parts].flatMap(({ source }) => source ?? []);
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.filter(({ url, title }) => !/^https?:\/\//.test(url) || title === '')).toEqual(
      [],
    );
  });
});
