import { expect, it } from 'vitest';
import { howToGoOn } from './next-steps.js';

it('names a run that the same command does not continue, with the folders of its name', () => {
  const summary = {
    interrupted: true,
    doneBefore: false,
    jobDirectory: '/runs/project/a/b/run_20260701093000',
    stageName: undefined,
    name: 'a/b/run_20260701093000',
    continues: false,
    trainStep: 1,
    checkpoint: undefined,
    hasEvaluations: false,
  };
  expect(howToGoOn(summary)).toContain('name to a/b/run_20260701093000.');
});
