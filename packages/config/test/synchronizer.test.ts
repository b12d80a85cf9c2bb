import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, parts, problems, stageOf, yaml } from './workspace.js';

const cwd = createWorkspace();
const file = (synchronizer: string, explorer = '{}'): string =>
  yaml({ rest: `synchronizer: {${synchronizer}}\nexplorer: ${explorer}` });
const warningsOf = (synchronizer: string): readonly string[] =>
  parse(cwd, file(synchronizer)).warnings;

describe('synchronizer', () => {
  it('gives each side its own interval, or the common one', () => {
    const of = (synchronizer: string) => stageOf(cwd, file(synchronizer)).synchronizer;
    expect(of('sync_interval: 3')).toMatchObject({
      explorerSyncInterval: 3,
      trainerSyncInterval: 3,
    });
    expect(
      of('sync_style: trainer_driven, explorer_sync_interval: 2, trainer_sync_interval: 5'),
    ).toMatchObject({ explorerSyncInterval: 2, trainerSyncInterval: 5 });
  });

  it.each([
    ['sync_style: fully_async', '{}', 2],
    ['sync_style: trainer_driven, sync_interval: 3', '{}', 3],
    ['sync_style: fully_async', '{max_inflight_batches: 5}', 5],
    ['sync_style: fixed', '{}', undefined],
  ])('limits what begins where nobody waits: %s %s', (synchronizer, explorer, expected) => {
    expect(stageOf(cwd, file(synchronizer, explorer)).explorer.maxInflightBatches).toBe(expected);
  });

  it('refuses a bound that the style fixed cannot keep, with the numbers that it follows from', () => {
    const text = file('sync_interval: 2, sync_offset: 1, max_staleness: 1');
    expect(problems(cwd, text)).toMatchObject([
      {
        key: 'synchronizer.max_staleness',
        message: expect.stringContaining(
          'up to 2 ahead of its weights (the interval 2 + sync_offset 1 - 1). Lower these, or raise max_staleness to 2.',
        ) as unknown,
      },
    ]);
    expect(problems(cwd, file('sync_interval: 2, sync_offset: 1, max_staleness: 2'))).toEqual([]);
  });

  it('says where no bound holds, and how to get one', () => {
    expect(warningsOf('sync_style: fully_async')).toEqual([
      expect.stringContaining('Set synchronizer.max_staleness, for example to 2'),
    ]);
    expect(warningsOf('sync_style: fully_async, max_staleness: 2')).toEqual([]);
  });

  it.each([
    ['sync_style: fixed, trainer_sync_interval: 2', 'fixed the trainer publishes where'],
    ['sync_style: explorer_driven, trainer_sync_interval: 2', 'publishes when the explorer asks'],
    ['sync_style: fully_async, max_staleness: 1, sync_offset: 2', 'as soon as they are published'],
  ])('says that a key has no effect in the style: %s', (synchronizer, message) => {
    expect(warningsOf(synchronizer)).toEqual([expect.stringContaining(message)]);
  });
});

describe('keys that a mode does not read', () => {
  const file = (top: string, replay = '') =>
    yaml({
      top,
      buffer: `${parts.buffer}
  total_steps: 5
  total_epochs: 2
  trainer_input: {experience_buffer: {capacity: 7, keep_trained_steps: 1, ${replay}}}`,
      rest: 'synchronizer: {sync_interval: 2, trainer_sync_interval: 3, explorer_sync_interval: 3, sync_offset: 1, max_staleness: 4, sync_style: explorer_driven}',
    });
  const named = (text: string, overrides?: Readonly<Record<string, unknown>>) =>
    parse(cwd, text, { overrides }).warnings.flatMap(
      (warning) => / (\S+): ignored\. In mode/.exec(warning)?.[1] ?? [],
    );

  it('are named in mode serve, unless the command sets the mode', () => {
    const keys = [
      'buffer.explorer_input.taskset',
      'buffer.total_steps',
      'buffer.total_epochs',
      'synchronizer.trainer_sync_interval',
      'synchronizer.explorer_sync_interval',
      'synchronizer.sync_offset',
      'synchronizer.max_staleness',
      'synchronizer.sync_style',
    ];
    const capacity = 'buffer.trainer_input.experience_buffer.capacity';
    expect(named(file('mode: serve')).toSorted()).toEqual([...keys, capacity].toSorted());
    expect(named(file('mode: serve', 'replay_buffer: {enable: true}')).toSorted()).toEqual(
      keys.toSorted(),
    );
    expect(named(file('mode: both'), { mode: 'serve' })).toEqual([]);
  });

  it('are named in mode train', () => {
    const text = yaml({
      top: 'mode: train',
      buffer:
        'buffer: {train_batch_size: 4, trainer_input: {experience_buffer: {storage_type: sql, path: tasks.jsonl, keep_trained_steps: 1}}}',
    });
    expect(named(text)).toEqual(['buffer.trainer_input.experience_buffer.keep_trained_steps']);
  });
});
