import { expect, it } from 'vitest';
import { howToGoOn, nextSteps } from './next-steps.js';

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

it('names the run, not its file, to serve what was trained on stored answers', async () => {
  const summary = {
    interrupted: false,
    doneBefore: false,
    jobDirectory: 'runs/project/a/warm up',
    name: 'a/warm up',
    continues: true,
    trainStep: 1,
    stageName: undefined,
    checkpoint: 'runs/project/a/warm up/global_step_1',
    hasEvaluations: false,
  };
  expect(await nextSteps('sft.yaml', summary, { plugin: [], pluginDir: [] })).toContain(
    "trinity serve --model 'warm up'='runs/project/a/warm up'",
  );
});
