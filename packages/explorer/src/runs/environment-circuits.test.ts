import { createExperience, EnvironmentError, type Task } from '@trinity-rft/core';
import { testRuntime, type TestRuntime, testTask } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel } from '@trinity-rft/workflow';
import { expect, it } from 'vitest';
import { rolloutMetrics } from '../metrics/rollout-metrics.js';
import { isOk, type TaskOutcome } from './outcome.js';
import type { AttemptKey, RunSettings } from './run-attempt.js';
import { taskStarter } from './start-task.js';

const experience = createExperience({
  tokens: [1, 2],
  promptLength: 1,
  logprobs: [-1],
  policyVersion: 0,
  temperature: 1,
  reward: 1,
});

const task = (taskId: number, repeatTimes = 2): Task =>
  testTask({
    taskId,
    repeatTimes,
    index: { taskset: 'set', row: taskId },
  });

/** Tasks in an environment that fails whenever `isDown` says so. */
function play(
  tasks: readonly Task[],
  isDown: (runtime: TestRuntime, task: number) => boolean,
  settings: Partial<RunSettings> = {},
) {
  const runtime = testRuntime();
  const keys: AttemptKey[] = [];
  const pauses: string[] = [];
  const begun = runtime.clock.now();
  const definition = defineWorkflow({
    name: 'w',
    run: (context) => {
      if (isDown(runtime, Number(context.task.taskId)))
        throw new EnvironmentError('The server is gone.', { code: 'GONE' });
      return [experience];
    },
  });
  const start = taskStarter({
    settings: { maxTimeoutMs: 1000, maxRetryTimes: 0, concurrency: 16, ...settings },
    createModel: (key) => {
      keys.push(key);
      const model = { extractExperiencesFromHistory: () => [experience] } as unknown as AgentModel;
      return {
        model,
        auxiliaryModels: new Map(),
        metrics: () => ({}),
        longestPauseMs: () => 0,
      };
    },
    workflow: () => definition,
    rewardFn: () => undefined,
    onPause: (what) => {
      pauses.push(what);
      return () => pauses.push('over');
    },
    runtime,
    signal: new AbortController().signal,
  });
  const outcomes = Promise.all(tasks.map((each) => start(each).outcome));
  outcomes.catch(() => undefined);
  const seconds = (): number => (runtime.clock.now() - begun) / 1000;
  return { outcomes, runtime, keys, pauses, seconds };
}

const kinds = (outcomes: readonly TaskOutcome[]) =>
  outcomes.flatMap(({ runs }) => runs.map((run) => (isOk(run) ? 'ok' : run.kind)));

it('tries a run again as it was when its environment fails, and never trains on the failure', async () => {
  let calls = 0;
  const { outcomes, keys } = play([task(0, 1)], () => calls++ < 2, { failureReward: -1 });
  const [outcome] = await outcomes;
  expect(kinds(await outcomes)).toEqual(['ok']);
  expect(keys.map(({ attempt }) => attempt)).toEqual([0, 0, 0]);
  expect(rolloutMetrics([outcome!], 0)).toMatchObject({
    'rollout/attempts/environment_failed': 2,
    'rollout/runs/environment_failed': 0,
    'rollout/runs/failure_rewarded': 0,
    'rollout/reward/mean': 1,
  });
});

it('drops and counts a task whose environment always fails, while others go on', async () => {
  const { outcomes, runtime, pauses } = play([task(0), task(1)], (_, id) => id === 0, {
    failureReward: -1,
    environmentFailures: { maxRetryTimes: 4, maxInRow: 3, maxWaitMs: 1e6 },
  });
  await runtime.clock.advance(60_000);
  expect(kinds(await outcomes)).toEqual(['environment_failed', 'environment_failed', 'ok', 'ok']);
  expect(pauses).toEqual([]);
  expect(rolloutMetrics(await outcomes, 0)['rollout/runs/environment_failed']).toBe(2);
});

it('pauses all runs of an environment that is down, asks at growing intervals, and loses none', async () => {
  const down = { until: Infinity };
  const { outcomes, runtime, keys, pauses } = play(
    [task(0), task(1), task(2)],
    ({ clock }) => clock.now() < down.until,
    { environmentFailures: { maxRetryTimes: 3, maxInRow: 6, maxWaitMs: 1e6 } },
  );
  await runtime.clock.advance(0);
  expect(pauses).toEqual(['environment "w", which fails: The server is gone.']);
  const before = keys.length;
  await runtime.clock.advance(120_000);
  const probes = keys.length - before;
  expect(probes).toBeGreaterThanOrEqual(5);
  expect(probes).toBeLessThanOrEqual(8);
  down.until = 0;
  await runtime.clock.advance(60_000);
  expect(kinds(await outcomes)).toEqual(Array.from({ length: 6 }, () => 'ok'));
  expect(pauses.at(-1)).toBe('over');
});

it('ends with a clear error when the environment has been down for too long', async () => {
  const { outcomes, runtime } = play([task(0), task(1)], () => true, {
    environmentFailures: { maxRetryTimes: 1, maxInRow: 2, maxWaitMs: 90_000 },
  });
  await runtime.clock.advance(100_000);
  await expect(outcomes).rejects.toMatchObject({
    name: 'EnvironmentError',
    code: 'ENVIRONMENT_DOWN',
    message:
      'Environment "w" has failed for 90 s (explorer.environment_failures.max_wait). Mend it and start the run again: it continues where it was.',
    cause: { code: 'GONE' },
  });
});
