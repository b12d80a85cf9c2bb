import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, parts, problems, stageOf, yaml } from './workspace.js';

const cwd = createWorkspace();
const experts =
  '  train_batch_size: 8\n  trainer_input:\n    auxiliary_buffers:\n      sft_dataset: { storage_type: file, path: ./tasks.jsonl }';
const withExperts = `${parts.buffer}\n  batch_size: 2\n${experts}`;
const mix = (args: string): string =>
  `algorithm:\n  algorithm_type: mix\n  repeat_times: 4\n  sample_strategy_args: { ${args} }`;
const staleness = (limit: number, interval: number) => ({
  algorithm: `algorithm:\n  algorithm_type: grpo\n  sample_strategy: staleness_control\n  sample_strategy_args: { max_staleness: ${limit} }`,
  rest: `synchronizer:\n  sync_interval: ${interval}`,
});
const found = (file: Partial<typeof parts>) =>
  problems(cwd, yaml(file)).map(({ key, message }) => [key, message]);

describe('the sample strategy mix', () => {
  it('takes a share of each batch from the expert buffer', () => {
    const { algorithm, buffer } = stageOf(
      cwd,
      yaml({ algorithm: mix('expert_data_ratio: 0.25'), buffer: withExperts }),
    );
    expect(algorithm.sampleStrategy).toMatchObject({
      name: 'mix',
      args: { expertDataRatio: 0.25 },
    });
    expect(buffer.trainerInput.experts).toMatchObject({
      count: 2,
      buffer: { name: 'sft_dataset', storageType: 'file' },
    });
  });

  it('is rejected without its buffer, at the key that names it', () => {
    const message = expect.stringContaining(
      'under "teachers", which is not among sft_dataset. Add it',
    );
    expect(found({ algorithm: mix('sft_dataset_name: teachers'), buffer: withExperts })).toEqual([
      ['algorithm.sample_strategy_args.sft_dataset_name', message],
    ]);
    expect(found({ algorithm: 'algorithm:\n  algorithm_type: mix\n  repeat_times: 4' })).toEqual([
      [
        'algorithm.algorithm_type',
        expect.stringContaining('under "sft_dataset", and there are none'),
      ],
    ]);
  });

  it('takes none where its share is 0', () => {
    const { buffer } = stageOf(
      cwd,
      yaml({ algorithm: mix('expert_data_ratio: 0'), buffer: withExperts }),
    );
    expect(buffer.trainerInput.experts).toBeUndefined();
  });

  it('is rejected when it leaves no room for the model', () => {
    expect(found({ algorithm: mix('expert_data_ratio: 0.95'), buffer: withExperts })).toEqual([
      [
        'algorithm.sample_strategy_args.expert_data_ratio',
        expect.stringContaining('0.95 of a train_batch_size of 8 leaves no room'),
      ],
    ]);
  });
});

describe('the sample strategy staleness_control', () => {
  it('has to allow what the interval between two publications brings', () => {
    expect(found(staleness(1, 2))).toEqual([
      [
        'algorithm.sample_strategy_args.max_staleness',
        expect.stringContaining('(synchronizer.sync_interval 2 + sync_offset 0)'),
      ],
    ]);
    expect(found(staleness(2, 2))).toEqual([]);
    const rest = 'synchronizer: { sync_interval: 2, sync_style: explorer_driven }';
    expect(found({ ...staleness(1, 2), rest })).toEqual([]);
  });

  it('has to allow at least what is on policy', () => {
    const rest = 'synchronizer: { sync_style: explorer_driven }';
    expect(found({ ...staleness(0, 1), rest })).toEqual([
      ['algorithm.sample_strategy_args.max_staleness', expect.stringContaining('at least 1')],
    ]);
  });

  it('has to allow the offset of fixed', () => {
    const rest = 'synchronizer: { sync_offset: 1 }';
    expect(found({ ...staleness(1, 1), rest })).toEqual([
      ['algorithm.sample_strategy_args.max_staleness', expect.stringContaining('at least 2.')],
    ]);
    expect(found({ ...staleness(2, 1), rest })).toEqual([]);
  });

  it.each(['trainer_driven', 'fully_async'])('has to allow the interval of %s', (style) => {
    const every = (more: string): string =>
      `synchronizer: { sync_style: ${style}, sync_interval: 4${more} }`;
    expect(found({ ...staleness(3, 1), rest: every('') })).toEqual([
      [
        'algorithm.sample_strategy_args.max_staleness',
        expect.stringContaining('published every 4 train steps (synchronizer.sync_interval)'),
      ],
    ]);
    expect(found({ ...staleness(4, 1), rest: every('') })).toEqual([]);
    expect(found({ ...staleness(2, 1), rest: every(', trainer_sync_interval: 2') })).toEqual([]);
    // The trainer publishes as soon as the explorer would wait for it.
    expect(found({ ...staleness(1, 1), rest: every(', max_staleness: 0') })).toEqual([]);
  });

  it('names the interval that counts', () => {
    const rest = 'synchronizer:\n  sync_interval: 1\n  explorer_sync_interval: 3';
    expect(found({ ...staleness(1, 3), rest })).toEqual([
      [
        'algorithm.sample_strategy_args.max_staleness',
        expect.stringContaining('(synchronizer.explorer_sync_interval 3 + sync_offset 0)'),
      ],
    ]);
  });
});

it('says that rows of a data set have an order of their own', () => {
  const buffer =
    'buffer:\n  train_batch_size: 1\n  trainer_input:\n    experience_buffer: { path: ./tasks.jsonl }';
  const file = {
    top: 'mode: train',
    algorithm: 'algorithm:\n  algorithm_type: sft\n  sample_strategy: mix',
    buffer,
  };
  expect(found(file)).toEqual([]);
  // It does not read experts, so missing ones are no problem.
  expect(stageOf(cwd, yaml(file)).buffer.trainerInput.experts).toBeUndefined();
  expect(parse(cwd, yaml(file)).warnings.join('\n')).toContain(
    'ignored. sft reads the rows of its data set in the order of data_selector.',
  );
});

it('says that there is no teacher to learn from', () => {
  const distill = yaml({ algorithm: 'algorithm:\n  algorithm_type: jsd' });
  expect(parse(cwd, distill).warnings.join('\n')).toContain(
    'explorer.auxiliary_models is empty. Add the teacher there',
  );
  const taught = yaml({
    algorithm: 'algorithm:\n  algorithm_type: jsd',
    rest: 'explorer:\n  auxiliary_models:\n    - { name: teacher, model_path: ./tiny, max_prompt_tokens: 8, max_response_tokens: 8 }',
  });
  expect(parse(cwd, taught).warnings.join('\n')).not.toContain('teacher');
});
