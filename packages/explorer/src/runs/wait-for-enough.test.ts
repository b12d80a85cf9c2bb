import { createExperience, type Task } from '@trinity-rft/core';
import { testRuntime, type TestRuntime, testTask } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel } from '@trinity-rft/workflow';
import { describe, expect, it } from 'vitest';
import { cutOffMetrics, rolloutMetrics } from '../metrics/rollout-metrics.js';
import { createEnvironmentCircuits } from './environment-circuits.js';
import type { RunSettings } from './run-attempt.js';
import { taskStarter } from './start-task.js';
import {
  enoughTasks,
  usableOutcome,
  waitForEnough,
  type OverRollout,
  type UsableOutcome,
} from './wait-for-enough.js';

/** Task whose run r ends after `seconds[r]` seconds; never if that is undefined. */
const taskOf = (taskId: number, seconds: readonly (number | undefined)[]): Task =>
  testTask({
    taskId,
    rawTask: { seconds },
    repeatTimes: seconds.length,
    index: { taskset: 'set', row: taskId },
  });

const experience = createExperience({
  tokens: [1, 2],
  promptLength: 1,
  logprobs: [-1],
  reward: 1,
  policyVersion: 0,
  temperature: 1,
});

interface Explored {
  readonly outcomes: Promise<readonly UsableOutcome[]>;
  readonly runtime: TestRuntime;
  readonly late: () => number;
}

function explore(
  tasks: readonly Task[],
  overRollout: OverRollout,
  over: Partial<RunSettings & { concurrency: number; ignoresSignal: boolean }> = {},
): Explored {
  const runtime = testRuntime();
  let late = 0;
  let run = 0;
  const settings = {
    maxTimeoutMs: 100_000,
    maxRetryTimes: 1,
    failureReward: -1,
    concurrency: 64,
    ...over,
  };
  const start = taskStarter({
    settings,
    circuits: createEnvironmentCircuits({ settings, ...runtime }),
    workflow: () =>
      defineWorkflow({
        name: 'w',
        run: async ({ task, signal }) => {
          const { seconds } = task.rawTask as { seconds: readonly number[] };
          const own = seconds[run++ % seconds.length];
          if (own === undefined) return new Promise<never>(() => undefined);
          await runtime.clock.sleep(own * 1000, over.ignoresSignal ? undefined : signal);
          return [experience];
        },
      }),
    rewardFn: () => undefined,
    createModel: () => ({
      model: { extractExperiencesFromHistory: () => [experience] } as unknown as AgentModel,
      auxiliaryModels: new Map(),
      metrics: () => ({}),
      longestPauseMs: () => 0,
    }),
    onLateResult: () => void late++,
    runtime,
    signal: new AbortController().signal,
  });
  const outcomes = waitForEnough(
    tasks.map((task) => start(task)),
    overRollout,
    runtime.clock,
  ).then((all) => all.map((outcome) => usableOutcome(outcome, overRollout)));
  return { outcomes, runtime, late: () => late };
}

const most: OverRollout = { ratio: 0.25, waitAfterMinMs: 30_000, returnPartialTasks: false };
const kinds = (outcomes: readonly UsableOutcome[]) =>
  outcomes.map(({ runs }) => runs.map((run) => (run.status === 'ok' ? 'ok' : run.kind)));

it.each([
  [8, 0.25, 6],
  [8, 0.3, 6],
  [10, 0.1, 9],
  [1, 0.9, 1],
  [3, 0, 3],
])('of %i tasks with ratio %f, %i are enough', (tasks, ratio, enough) => {
  expect(enoughTasks(tasks, { ratio })).toBe(enough);
});

describe('an explore step that does not wait for its slowest tasks', () => {
  const tasks = [
    taskOf(0, [1, 2]),
    taskOf(1, [1, undefined]),
    taskOf(2, [3, 1]),
    taskOf(3, [2, 2]),
  ];

  it('ends once enough have ended and the grace has passed, and blames nobody', async () => {
    const { outcomes, runtime } = explore(tasks, most);
    let ended = false;
    void outcomes.then(() => (ended = true));
    await runtime.clock.advance(3000);
    await runtime.clock.advance(29_999);
    expect(ended).toBe(false);
    await runtime.clock.advance(1);
    const all = await outcomes;
    expect(kinds(all)).toEqual([['ok', 'ok'], ['cancelled'], ['ok', 'ok'], ['ok', 'ok']]);
    expect(cutOffMetrics(all, 0)).toEqual({
      'rollout/tasks/cancelled': 1,
      'rollout/tasks/partial': 0,
      'rollout/runs/cancelled': 1,
      'rollout/runs/unused': 1,
      'rollout/runs/late': 0,
    });
    expect(rolloutMetrics(all, 0)).toMatchObject({
      'rollout/finished_task_count': 3,
      'rollout/failed_task_count': 0,
      'rollout/runs/ok': 6,
      'rollout/runs/failed': 0,
      'rollout/runs/timed_out': 0,
      'rollout/runs/failure_rewarded': 0,
      'rollout/time/run_execution/max': 2,
    });
    expect(runtime.logger.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    expect(runtime.clock.sleeping).toBe(0);
  });

  it('ends at once when the others end within the grace', async () => {
    const { outcomes, runtime } = explore([...tasks.slice(2), taskOf(1, [9, 1]), tasks[0]!], most);
    await runtime.clock.advance(9000);
    expect(kinds(await outcomes).flat()).toEqual(Array.from({ length: 8 }, () => 'ok'));
    expect(runtime.clock.sleeping).toBe(0);
  });

  it('uses the finished runs of an unfinished task, but not one alone', async () => {
    const slow = [taskOf(0, [1, 1, undefined]), taskOf(1, [1, undefined, undefined])];
    const quick = [2, 3].map((task) => taskOf(task, [1, 1, 1]));
    const settings = { ratio: 0.5, waitAfterMinMs: 0, returnPartialTasks: true };
    const { outcomes, runtime } = explore([...slow, ...quick], settings);
    await runtime.clock.advance(1000);
    await runtime.clock.advance(1);
    const all = await outcomes;
    expect(kinds(all).slice(0, 2)).toEqual([
      ['ok', 'ok', 'cancelled'],
      ['cancelled', 'cancelled'],
    ]);
    expect(cutOffMetrics(all, 0)).toMatchObject({
      'rollout/tasks/cancelled': 2,
      'rollout/tasks/partial': 1,
      'rollout/runs/cancelled': 3,
      'rollout/runs/unused': 1,
    });
  });

  it('cancels runs that have not begun, and counts results that come too late', async () => {
    const queued = [0, 1]
      .map((task) => taskOf(task, [1]))
      .concat([2, 3].map((t) => taskOf(t, [90])));
    const settings = { ...most, ratio: 0.5, waitAfterMinMs: 0 };
    const { outcomes, runtime, late } = explore(queued, settings, {
      concurrency: 3,
      ignoresSignal: true,
    });
    await runtime.clock.advance(1000);
    await runtime.clock.advance(1);
    expect(kinds(await outcomes)).toEqual([['ok'], ['ok'], ['cancelled'], ['cancelled']]);
    await runtime.clock.advance(100_000);
    expect(late()).toBeGreaterThan(0);
  });
});

it('ends a task at its own deadline, and keeps the runs that have ended', async () => {
  const all = { ...most, ratio: 0 };
  const { outcomes, runtime } = explore([taskOf(0, [1, undefined]), taskOf(1, [2, 2])], all, {
    maxTaskTimeoutMs: 5000,
  });
  await runtime.clock.advance(5000);
  const [stuck, other] = await outcomes;
  expect(kinds([stuck!, other!])).toEqual([
    ['ok', 'timed_out'],
    ['ok', 'ok'],
  ]);
  expect(stuck!.runs[1]).toMatchObject({ error: { code: 'TASK_TIMEOUT' }, seconds: 5 });
  expect([stuck!.retries, stuck!.isCutOff]).toEqual([0, false]);
});
