import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, parts, problems, stageOf, yaml } from './workspace.js';

const cwd = createWorkspace();
const experts =
  '  train_batch_size: 8\n  trainer_input:\n    auxiliary_buffers:\n      sft_dataset: { storage_type: file, path: ./tasks.jsonl }';
const withExperts = `${parts.buffer}\n  batch_size: 2\n${experts}`;
const mix = (args: string): string =>
  `algorithm:\n  algorithm_type: mix\n  repeat_times: 4\n  sample_strategy_args: { ${args} }`;
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

  it('leaves room for all runs of an explore step, unless the file sets the size', () => {
    const parsed = (share: number, size = '') => {
      const algorithm = mix(`expert_data_ratio: ${share}`);
      const buffer = withExperts.replace('  train_batch_size: 8', size);
      const { config, warnings } = parse(cwd, yaml({ algorithm, buffer }));
      return { batch: config.stages[0]!.buffer.trainBatch, warnings };
    };
    for (let percent = 0; percent < 100; percent++) {
      const { batch, warnings } = parsed(percent / 100);
      expect([percent, batch.own, warnings]).toEqual([percent, 8, []]);
    }
    expect(parsed(0.25).batch.size).toBe(11);
    expect(parsed(0.25, '  train_batch_size: 10').warnings).toEqual([
      expect.stringContaining('got 10, of which 3 are expert rows, but an explore step makes 8'),
    ]);
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
  const key = 'algorithm.sample_strategy_args.max_staleness';
  /** An explore step makes 4 x 4 runs. */
  const file = (limit: number, synchronizer: string, trainBatchSize = 16) => ({
    algorithm: `algorithm:\n  algorithm_type: grpo\n  repeat_times: 4\n  sample_strategy: staleness_control\n  sample_strategy_args: { max_staleness: ${limit} }`,
    buffer: `${parts.buffer}\n  batch_size: 4\n  train_batch_size: ${trainBatchSize}`,
    rest: `synchronizer: { ${synchronizer} }`,
  });
  const warned = (...args: Parameters<typeof file>): readonly string[] =>
    parse(cwd, yaml(file(...args))).warnings.filter((line) => line.includes(key));

  it('has to allow at least what is on policy', () => {
    expect(found(file(0, 'sync_style: explorer_driven'))).toEqual([
      [key, expect.stringContaining('at least 1')],
    ]);
  });

  it.each(['trainer_driven', 'fully_async'])('has to allow the interval of %s', (style) => {
    const every = (more = ''): string => `sync_style: ${style}, sync_interval: 4${more}`;
    expect(found(file(3, every()))).toEqual([
      [key, expect.stringContaining('published every 4 train steps (synchronizer.sync_interval)')],
    ]);
    expect(found(file(4, every()))).toEqual([]);
    expect(found(file(2, every(', trainer_sync_interval: 2')))).toEqual([]);
    // The trainer publishes as soon as the explorer would wait for it.
    expect(found(file(1, every(', max_staleness: 0')))).toEqual([]);
  });

  it.each([
    ['an interval of explore steps', 2, 'sync_interval: 2', 16, 1],
    ['the interval of the explorer', 3, 'sync_interval: 1, explorer_sync_interval: 3', 16, 2],
    ['an offset', 5, 'sync_interval: 4, sync_offset: 1', 16, 4],
    ['small train steps', 4, 'sync_interval: 1', 4, 1],
    ['several explore steps per train step', 2, 'sync_interval: 8', 64, 1],
    ['small train steps of fully_async', 4, 'sync_style: fully_async', 4, 3],
    [
      'the interval up to the bound',
      2,
      'sync_style: trainer_driven, sync_interval: 4, max_staleness: 1',
      16,
      1,
    ],
  ])('warns of discards by %s', (_, needed, synchronizer, size, limit) => {
    expect(warned(limit, synchronizer, size)).toEqual([
      expect.stringContaining(`up to ${needed} train steps after they were sampled`),
    ]);
    expect(warned(needed, synchronizer, size)).toEqual([]);
  });

  it.each(['', 'sync_style: trainer_driven, max_staleness: 3, '])(
    'counts train steps that take several explore steps (%s)',
    (style) => {
      expect(warned(1, `${style}sync_interval: 4`, 64)).toEqual([]);
    },
  );

  it('names the settings that count', () => {
    expect(warned(1, 'explorer_sync_interval: 3, sync_offset: 1', 8)).toEqual([
      expect.stringContaining(
        '(sync_style fixed, synchronizer.explorer_sync_interval 3 + sync_offset 1; 16 runs per explore step, 8 per train step)',
      ),
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
