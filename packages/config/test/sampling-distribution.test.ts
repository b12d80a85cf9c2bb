import {
  builtInTables,
  defineAdvantage,
  defineAlgorithm,
  definePolicyLoss,
  extendTables,
} from '@trinity-rft/algorithm';
import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, yaml, type parts } from './workspace.js';

const cwd = createWorkspace();
const taskset = (rest: string): string =>
  `buffer:\n  explorer_input:\n    taskset:\n      path: ./tasks.jsonl\n      default_workflow_type: math_workflow\n${rest}`;
const model = (line: string): string => `model:\n  model_path: ./tiny\n  ${line}`;
const algorithm = (lines: string): string => `algorithm:\n  repeat_times: 4\n  ${lines}`;
/** Keys of the warnings about a file. */
const warned = (file: Partial<typeof parts>): readonly (string | undefined)[] =>
  parse(cwd, yaml(file))
    .warnings.filter((line) => line.includes('importance ratios'))
    .map((line) => /^run\.yaml:\d+:\d+ ([\w.[\]]+): /.exec(line)?.[1]);

describe('a sampler that cuts the distribution', () => {
  it('causes a warning at its key, with the value, the reason and the fix', () => {
    const text = yaml({ model: model('top_p: 0.9') });
    const line = text.split('\n').findIndex((each) => each.includes('top_p')) + 1;
    expect(parse(cwd, text).warnings).toEqual([
      expect.stringMatching(
        new RegExp(
          String.raw`^run\.yaml:${line}:3 model\.top_p: got 0\.9, so tokens are drawn.*the policy loss "ppo" differ from 1 on policy, as training/rollout_logprobs_diff_\*.*Use 1, or`,
        ),
      ),
    ]);
  });

  it.each<[string, Partial<typeof parts>, readonly string[]]>([
    ['top_k', { model: model('top_k: 20') }, ['model.top_k']],
    ['a minimum length', { model: model('min_response_tokens: 4') }, ['model.min_response_tokens']],
    [
      'constrained decoding',
      { rest: 'explorer:\n  constrained_decoding: true' },
      ['explorer.constrained_decoding'],
    ],
    [
      'a task set',
      { buffer: taskset('      rollout_args: {top_p: 0.8}') },
      ['buffer.explorer_input.taskset.rollout_args.top_p'],
    ],
    [
      'two settings',
      { model: model('top_k: 20'), buffer: taskset('      rollout_args: {top_p: 0.8}') },
      ['model.top_k', 'buffer.explorer_input.taskset.rollout_args.top_p'],
    ],
    [
      'a server',
      { top: 'mode: serve', rest: 'explorer:\n  rollout_model: {top_p: 0.9}' },
      ['explorer.rollout_model.top_p'],
    ],
  ])('is found in %s', (_where, file, keys) => {
    expect(warned(file)).toEqual(keys);
  });

  it.each<[string, Partial<typeof parts>]>([
    ['nothing is cut', { model: model('top_p: 1') }],
    ['top_k is off', { model: model('top_k: -1') }],
    [
      'a task set takes it back',
      { model: model('top_p: 0.9'), buffer: taskset('      rollout_args: {top_p: 1}') },
    ],
    [
      'it is for evaluation',
      {
        buffer: taskset(
          '    eval_tasksets: [{path: ./tasks.jsonl, default_workflow_type: w, rollout_args: {top_p: 0.8, top_k: 5}}]',
        ),
      },
    ],
    [
      'nothing is explored',
      {
        top: 'mode: train',
        model: model('top_p: 0.9'),
        algorithm: 'algorithm:\n  algorithm_type: sft',
        buffer:
          'buffer:\n  train_batch_size: 1\n  trainer_input:\n    experience_buffer: { path: ./tasks.jsonl }',
      },
    ],
    [
      'it only evaluates',
      {
        top: 'mode: bench',
        model: model('top_p: 0.9'),
        buffer: taskset('    eval_tasksets: [{path: ./tasks.jsonl, default_workflow_type: w}]'),
      },
    ],
  ])('is nothing to warn of where %s', (_why, file) => {
    expect(warned(file)).toEqual([]);
  });
});

describe('importance ratios', () => {
  it.each([
    ['algorithm_type: opmd', []],
    ['algorithm_type: asymre', []],
    ['algorithm_type: raft', []],
    ['algorithm_type: grpo\n  policy_loss_fn_args: {fallback_to_policy_gradient: true}', []],
    ['algorithm_type: grpo\n  policy_loss_fn: opmd', []],
    ['algorithm_type: gspo', ['model.top_p']],
    ['algorithm_type: topr', ['model.top_p']],
    ['algorithm_type: sppo', ['model.top_p']],
    ['algorithm_type: rec', []],
    ['algorithm_type: rec\n  policy_loss_fn_args: {clip_mode: two-side}', ['model.top_p']],
    ['algorithm_type: cispo', ['model.top_p']],
  ])('are taken or not: %s', (lines, keys) => {
    expect(warned({ algorithm: algorithm(lines), model: model('top_p: 0.9') })).toEqual(keys);
  });

  it('are those that the losses of plugins declare', () => {
    const advantageFn = defineAdvantage({
      name: 'flat',
      create: () => ({ advantage: (experiences) => ({ experiences, metrics: {} }) }),
    });
    const plugin = (name: string, ratio: boolean) =>
      defineAlgorithm({
        name,
        repeatTimes: 2,
        advantageFn,
        policyLossFn: definePolicyLoss({
          name: `loss_of_${name}`,
          lossMetric: 'pg_loss',
          ratios: () => ratio,
          token: (token, out) => {
            out.gradient = ratio ? token.ratio : 1;
          },
        }),
      });
    const algorithms = extendTables(builtInTables, [
      plugin('with', true),
      plugin('without', false),
    ]);
    const count = (name: string): number =>
      parse(
        cwd,
        yaml({ algorithm: `algorithm:\n  algorithm_type: ${name}`, model: model('top_p: 0.9') }),
        { algorithms },
      ).warnings.length;
    expect([count('with'), count('without')]).toEqual([1, 0]);
  });
});
