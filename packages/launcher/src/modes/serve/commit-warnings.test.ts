import { createExperience, type Experience } from '@trinity-rft/core';
import { recordingLogger } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { createCommitWarnings } from './commit-warnings.js';

const of = (name: string, value: number) => ({
  [`experience_pipeline/group_advantages/${name}`]: value,
});
const attempt = (task: string, run: number): Experience =>
  createExperience({ eid: { batch: 'c1', task, run }, tokens: [1, 2], promptLength: 1 });

it('warns once of each reason why a commit teaches nothing', () => {
  const logger = recordingLogger();
  const check = createCommitWarnings(logger, true);
  const same = [attempt('a', 0), attempt('a', 1), attempt('b', 0)];
  check({ ...of('zero_variance_ratio', 0.5), 'rollout/calls': 3 }, same);
  expect(logger.messages()).toEqual([]);
  for (let i = 0; i < 2; i++) {
    check(of('uneven_runs', 2), same);
    check(of('zero_variance_ratio', 1), same);
  }
  expect(logger.messages('warn').map((message) => message.slice(0, 50))).toEqual([
    'The answers of 2 attempts have different rewards. ',
    'In this commit, all attempts with the same task_id',
  ]);
});

it('says that attempts with tasks of their own are not compared, unless nothing is', () => {
  const [logger, none] = [recordingLogger(), recordingLogger()];
  const alone = [attempt('a', 0), attempt('b', 0)];
  createCommitWarnings(logger, true)(of('zero_variance_ratio', 1), alone);
  createCommitWarnings(none, false)(of('zero_variance_ratio', 1), alone);
  expect(logger.messages('warn')[0]).toContain('every attempt has a task of its own');
  expect(none.messages('warn')).toEqual([]);
});
