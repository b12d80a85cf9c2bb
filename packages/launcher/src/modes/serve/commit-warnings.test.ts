import { recordingLogger } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { createCommitWarnings } from './commit-warnings.js';

it('warns once of each reason why a commit teaches nothing', () => {
  const logger = recordingLogger();
  const check = createCommitWarnings(logger);
  const of = (name: string, value: number) => ({
    [`experience_pipeline/group_advantages/${name}`]: value,
  });
  check({ ...of('zero_variance_ratio', 0.5), 'rollout/calls': 3 });
  expect(logger.messages()).toEqual([]);
  for (let i = 0; i < 2; i++) {
    check(of('uneven_runs', 2));
    check(of('zero_variance_ratio', 1));
  }
  expect(logger.messages('warn').map((message) => message.slice(0, 34))).toEqual([
    'The answers of 2 attempts have dif',
    'In this commit, no answer has anot',
  ]);
});
