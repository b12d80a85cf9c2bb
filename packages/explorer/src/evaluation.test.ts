import { EnvironmentError } from '@trinity-rft/core';
import { testRuntime, testTask } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { evaluate } from './evaluation.js';
import type { RunOutcome } from './runs/outcome.js';

it('warns that runs which their environment broke lower the score', async () => {
  const runtime = testRuntime();
  const error = new EnvironmentError('Gone.');
  const runs: readonly RunOutcome[] = [
    { status: 'ok', run: 0, experiences: [], reward: 1, metrics: { reward: 1 }, seconds: 1 },
    { status: 'failed', run: 1, kind: 'environment_failed', error, seconds: 1 },
  ];
  const metrics = await evaluate(
    {
      evalSets: [{ name: 'fresh', tasks: async () => [testTask({ repeatTimes: 2 })] }],
      runtime,
      policyVersion: () => 3,
      runTasks: async ([task = testTask({})]) => [
        { task, runs, retries: 0, timeouts: 0, seconds: 1 },
      ],
    },
    7,
  );
  expect(metrics['eval/fresh/reward/mean@2']).toBe(0.5);
  expect(runtime.logger.messages('warn')).toEqual([
    '1 of 2 runs of the evaluation "fresh" were broken by their environment, and count as 0.',
  ]);
});
