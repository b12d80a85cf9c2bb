import { recordingLogger } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { createStepWarnings } from './warnings.js';

it('warns after three steps of which nothing is left, after six and twelve, and counts from zero after a good one', () => {
  const logger = recordingLogger();
  const { experiencesStored } = createStepWarnings(logger);
  const warned = (steps: readonly (readonly [made: number, stored: number])[]) => {
    const before = logger.messages('warn').length;
    for (const [made, stored] of steps) experiencesStored(made, stored);
    return logger
      .messages('warn')
      .slice(before)
      .map((message) => /last (\d+)/.exec(message)?.[1]);
  };
  const nothing = (count: number) => Array.from({ length: count }, () => [4, 0] as const);
  expect(warned([...nothing(2), [4, 1], ...nothing(2)])).toEqual([]);
  expect(warned(nothing(1))).toEqual(['3']);
  expect(warned(nothing(10))).toEqual(['6', '12']);
  expect(warned([[0, 0], [4, 4], ...nothing(3)])).toEqual(['3']);
});

it('warns once that no group of a step differs', () => {
  const logger = recordingLogger();
  const { groupsCompared } = createStepWarnings(logger);
  for (const share of [undefined, 0, 0.9, 1, 1]) groupsCompared(share);
  expect(logger.messages('warn')).toHaveLength(1);
});

it('warns once that runs have several rewards, of which one counts', () => {
  const logger = recordingLogger();
  const { rewardsDiffer } = createStepWarnings(logger);
  for (const runs of [undefined, 0, 2, 3]) rewardsDiffer(runs);
  expect(logger.messages('warn')).toEqual([
    expect.stringMatching(/calls of 2 runs .*or an operator that changes/),
  ]);
});

it('warns once that a stats_key names nothing', () => {
  const logger = recordingLogger();
  const { statsUnused } = createStepWarnings(logger);
  for (const isUnused of [false, true, true]) statsUnused(isUnused);
  expect(logger.messages('warn')).toEqual([expect.stringContaining('A stats_key')]);
});

it('warns once that no step has a state for gigpo to compare', () => {
  const logger = recordingLogger();
  const { statesCompared } = createStepWarnings(logger);
  for (const states of [undefined, 3, 0, 0]) statesCompared(states);
  expect(logger.messages('warn')).toEqual([expect.stringContaining('info.env_state_hash')]);
});

it('warns once that calls of tools are not read', () => {
  const logger = recordingLogger();
  const { callsUnread } = createStepWarnings(logger);
  for (const calls of [{}, { unread: 0, read: 0 }, { unread: 0.1, read: 3 }]) callsUnread(calls);
  expect(logger.messages('warn')).toEqual([]);
  for (const unread of [0.5, 1]) callsUnread({ unread, read: 0 });
  expect(logger.messages('warn')).toEqual([expect.stringContaining('tool_call_parser')]);
});
