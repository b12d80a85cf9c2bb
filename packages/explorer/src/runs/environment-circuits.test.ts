import { createExperience, EnvironmentError, WorkflowError, type Task } from '@trinity-rft/core';
import { testRuntime, type TestRuntime, testTask } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel } from '@trinity-rft/workflow';
import { expect, it } from 'vitest';
import { rolloutMetrics } from '../metrics/rollout-metrics.js';
import { createEnvironmentCircuits, type Answer } from './environment-circuits.js';
import { isOk, type TaskOutcome } from './outcome.js';
import type { AttemptKey, RunSettings } from './run-attempt.js';
import { taskStarter } from './start-task.js';
import { waitForEnough } from './wait-for-enough.js';

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

const gone = (details = {}) =>
  new EnvironmentError('The server is gone.', { code: 'GONE', details });

/** Tasks in an environment that fails whenever `isDown` says so, or throws. */
function play(
  tasks: readonly Task[],
  isDown: (runtime: TestRuntime, task: number) => boolean | Promise<boolean>,
  { ratio = 0, ...settings }: Partial<RunSettings> & { readonly ratio?: number } = {},
) {
  const runtime = testRuntime();
  const keys: AttemptKey[] = [];
  const pauses: string[] = [];
  const begun = runtime.clock.now();
  const definition = defineWorkflow({
    name: 'w',
    run: async (context) => {
      if (await isDown(runtime, Number(context.task.taskId))) throw gone();
      return [experience];
    },
  });
  const circuits = createEnvironmentCircuits({
    settings,
    onPause: (what) => {
      pauses.push(what);
      return () => pauses.push('over');
    },
    ...runtime,
  });
  const start = taskStarter({
    settings: { maxTimeoutMs: 1000, maxRetryTimes: 0, concurrency: 16, ...settings },
    createModel: (key) => {
      keys.push(key);
      const model = { extractExperiencesFromHistory: () => [experience] } as unknown as AgentModel;
      return {
        model,
        auxiliaryModels: new Map(),
        metrics: () => ({ 'model/calls': 3 }),
        longestPauseMs: () => 0,
      };
    },
    workflow: () => definition,
    rewardFn: () => undefined,
    circuits,
    runtime,
    signal: new AbortController().signal,
  });
  const overRollout = { ratio, waitAfterMinMs: 30_000, returnPartialTasks: false };
  const outcomes = waitForEnough(
    tasks.map((task) => start(task)),
    overRollout,
    circuits.clock,
  );
  outcomes.catch(() => undefined);
  const seconds = (): number => (runtime.clock.now() - begun) / 1000;
  return { outcomes, runtime, keys, pauses, seconds };
}

/** Pauses of environments, without the waits between the attempts of a single run. */
const stops = (pauses: readonly string[]): readonly string[] =>
  pauses.filter((what) => what.startsWith('environment'));

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
  const tries = /^another try of what failed in environment "w", by \d\d:\d\d:\d\d at the latest$/;
  const both = [expect.stringMatching(tries), 'over'];
  expect(pauses).toEqual([...both, ...both]);
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

it.each([
  ['continues when agents fail, which then use the environment', new TypeError('unknown tool'), 1],
  [
    'keeps waiting when a result is invalid',
    new WorkflowError('none', { code: 'WORKFLOW_RESULT' }),
    0,
  ],
])('%s, after an environment was down', async (_what, error, goesOn) => {
  const { outcomes, runtime, pauses } = play(
    [task(0), task(1)],
    ({ clock }) => {
      if (clock.now() < 20_000) return true;
      throw error;
    },
    { environmentFailures: { maxRetryTimes: 8, maxInRow: 4, maxWaitMs: 90_000 } },
  );
  await runtime.clock.advance(80_000);
  expect(kinds(await outcomes)).toEqual(Array.from({ length: 4 }, () => 'failed'));
  expect(stops(pauses)).toHaveLength(1);
  const again = runtime.logger.messages('info').filter((text) => text.includes('tried by all'));
  expect(again).toHaveLength(goesOn);
});

it('counts max_wait over pauses that end by failures of agents, which are no answers', async () => {
  const runtime = testRuntime();
  const settings = { environmentFailures: { maxRetryTimes: 0, maxInRow: 2, maxWaitMs: 30_000 } };
  const { of } = createEnvironmentCircuits({ settings, ...runtime });
  const circuit = of('w');
  let down: unknown;
  const attempts = async (): Promise<void> => {
    const { signal } = new AbortController();
    const breakdown = { error: gone(), isRepeated: false };
    for (let i = 0; ; i++)
      (await circuit.enter(task(i), signal)).end(i % 4 < 2 ? breakdown : 'failed');
  };
  attempts().catch((error: unknown) => (down = error));
  for (let second = 0; second < 40; second++) await runtime.clock.advance(1000);
  expect(down).toMatchObject({ code: 'ENVIRONMENT_DOWN' });
  expect(circuit.answers()).toBe(0);
});

it('counts no time between pauses towards max_wait', async () => {
  const runtime = testRuntime();
  const settings = { environmentFailures: { maxRetryTimes: 0, maxInRow: 2, maxWaitMs: 9000 } };
  const { of } = createEnvironmentCircuits({ settings, ...runtime });
  const circuit = of('w');
  const breakdown = { error: gone(), isRepeated: false };
  const outage = async (): Promise<void> => {
    const { signal } = new AbortController();
    for (const answer of [breakdown, breakdown, 'failed', 'failed'] as const)
      (await circuit.enter(task(0), signal)).end(answer);
  };
  for (let i = 0; i < 3; i++) {
    const ended = outage();
    await runtime.clock.advance(2000);
    await ended;
    await runtime.clock.advance(3_600_000);
  }
  expect(circuit.isPaused()).toBe(false);
  expect(runtime.logger.messages('warn').map((text) => /at most [\d.]+ s/.exec(text)?.[0])).toEqual(
    ['at most 9 s', 'at most 7 s', 'at most 5 s'],
  );
});

it('says how many tries ended otherwise while an environment was taken to be down', async () => {
  const runtime = testRuntime();
  const settings = { environmentFailures: { maxRetryTimes: 0, maxInRow: 2, maxWaitMs: 9000 } };
  const { of } = createEnvironmentCircuits({ settings, ...runtime });
  const circuit = of('w');
  const answers: readonly Answer[] = [
    { error: gone(), isRepeated: false },
    { error: gone(), isRepeated: false },
    'failed',
    'unknown',
    'failed',
  ];
  const ended = (async () => {
    for (const [i, answer] of answers.entries())
      (await circuit.enter(task(i), new AbortController().signal)).end(answer);
  })();
  await runtime.clock.advance(8000);
  await ended;
  expect(circuit.isPaused()).toBe(true);
  await runtime.clock.advance(8000);
  await expect(circuit.enter(task(9), new AbortController().signal)).rejects.toThrow(
    /it continues where it was\..* Number of tests that ended for other reasons: 3\.$/,
  );
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
      'Environment "w" has failed for 90 s (explorer.environment_failures.max_wait). Mend it and start the run again: it continues where it was. The last failures were at row 0 of "set", row 1 of "set": if only these fail, take them out of the task set.',
    cause: { code: 'GONE' },
  });
});

it('waits with the only task of a batch, and names its row when that takes too long', async () => {
  const settings = { environmentFailures: { maxRetryTimes: 1, maxInRow: 4, maxWaitMs: 90_000 } };
  let isDown = true;
  const short = play([task(3)], () => isDown, settings);
  await short.runtime.clock.advance(60_000);
  isDown = false;
  await short.runtime.clock.advance(30_000);
  expect(kinds(await short.outcomes)).toEqual(['ok', 'ok']);
  const long = play([task(3)], () => true, settings);
  await long.runtime.clock.advance(100_000);
  await expect(long.outcomes).rejects.toThrow(
    /it continues where it was\. The last failures were at row 3 of "set": if only these/,
  );
});

it('stops the clocks of a task while its runs wait, and counts the seconds', async () => {
  const { outcomes, runtime } = play(
    [task(0), task(1), task(2)],
    async ({ clock }, id) => {
      if (clock.now() < 100_000) return true;
      // One of three tasks is done, so the others get a grace period of 30 s. A task may take 50 s.
      await clock.sleep(id * 20_000);
      return false;
    },
    {
      maxTimeoutMs: 1e6,
      ratio: 0.5,
      maxTaskTimeoutMs: 50_000,
      environmentFailures: { maxRetryTimes: 1, maxInRow: 6, maxWaitMs: 1e6 },
    },
  );
  await runtime.clock.advance(300_000);
  expect(kinds(await outcomes)).toEqual(Array.from({ length: 6 }, () => 'ok'));
  const [first] = await outcomes;
  expect(first?.environmentWaitSeconds).toBeGreaterThanOrEqual(100);
  expect(first?.seconds).toBeLessThan(1);
  expect(rolloutMetrics(await outcomes, 0)['time/wait_environment']).toBe(
    first?.environmentWaitSeconds,
  );
});

it('knows what other tasks with the same circuits have found out', async () => {
  const runtime = testRuntime();
  const settings = { environmentFailures: { maxRetryTimes: 0, maxInRow: 2, maxWaitMs: 1000 } };
  const { of } = createEnvironmentCircuits({ settings, ...runtime });
  const { signal } = new AbortController();
  for (const each of [task(0), task(1)]) {
    const admission = await of('w').enter(each, signal);
    admission.end({ error: gone(), isRepeated: false });
  }
  expect([of('w').isPaused(), of('other').isPaused()]).toEqual([true, false]);
});

it('drops a run whose action always breaks the environment, by a name of its own', async () => {
  const settings = { environmentFailures: { maxRetryTimes: 8, maxInRow: 8, maxWaitMs: 1e6 } };
  const { outcomes, runtime, keys, pauses } = play(
    [task(0, 6), task(1, 6)],
    (_, id) => {
      if (id === 0) throw gone({ step: 2, action: 77 });
      return false;
    },
    settings,
  );
  await runtime.clock.advance(120_000);
  const ended = await outcomes;
  expect(new Set(kinds(ended))).toEqual(new Set(['environment_crashed', 'ok']));
  expect([keys.length, stops(pauses)]).toEqual([6 * 9 + 6, []]);
  expect(rolloutMetrics(ended, 0)).toMatchObject({
    'rollout/runs/environment_crashed': 6,
    'rollout/runs/environment_failed': 0,
    'rollout/attempts/environment_failed': 54,
  });
  expect(runtime.logger.messages('warn').join('\n')).toContain(
    'is dropped: the same action broke its environment in 9 attempts in a row',
  );
});

it('gives up an action early where the environment answers others meanwhile', async () => {
  const { outcomes, runtime, keys } = play([task(0, 1), task(1, 60)], async ({ clock }, id) => {
    if (id === 0) throw gone({ step: 2, action: 77 });
    await clock.sleep(300);
    return false;
  });
  await runtime.clock.advance(120_000);
  expect(kinds(await outcomes).filter((kind) => kind !== 'ok')).toEqual(['environment_crashed']);
  expect(keys).toHaveLength(4 + 60);
  expect(runtime.logger.lines.flatMap(({ fields }) => fields['attempt'] ?? [])).toEqual([
    1, 2, 3, 4,
  ]);
});

it('does not wait for an environment that only two actions break, of all runs', async () => {
  const { outcomes, runtime, pauses } = play([task(0, 1), task(1, 1), task(2, 1)], (_, id) => {
    if (id > 0) throw gone({ step: 1, action: id });
    return false;
  });
  await runtime.clock.advance(120_000);
  expect(kinds(await outcomes)).toEqual(['ok', 'environment_crashed', 'environment_crashed']);
  expect(stops(pauses)).toEqual([]);
});

it('drops runs of rows that cannot be graded, while others are', async () => {
  const tasks = [task(1, 3), task(2, 3), task(0, 60)];
  const { outcomes, runtime, pauses } = play(tasks, async ({ clock }, id) => {
    await clock.sleep(300);
    if (id > 0) throw gone({ action: 'grade' });
    return false;
  });
  await runtime.clock.advance(120_000);
  const dropped = Array.from({ length: 6 }, () => 'environment_crashed');
  expect(kinds(await outcomes).filter((kind) => kind !== 'ok')).toEqual(dropped);
  expect(stops(pauses)).toEqual([]);
  expect(runtime.logger.messages('warn').join('\n')).toMatch(
    /is dropped: its environment could not grade it in \d attempts in a row/,
  );
});

it('waits for what grades to be back, after it has graded others', async () => {
  const { outcomes, runtime, pauses } = play(
    [task(0, 1), task(1, 6), task(2, 6)],
    async ({ clock }, id) => {
      if (id === 0) return false;
      await clock.sleep(300);
      if (clock.now() - begun < 120_000) throw gone({ action: 'grade' });
      return false;
    },
  );
  const begun = runtime.clock.now();
  await runtime.clock.advance(300_000);
  expect(new Set(kinds(await outcomes))).toEqual(new Set(['ok']));
  expect(stops(pauses)).toHaveLength(1);
});

it('drops the last runs of a step that cannot be graded, after it has waited', async () => {
  const { outcomes, runtime, pauses } = play(
    [task(0, 1), task(1, 6), task(2, 6), task(3, 1)],
    async ({ clock }, id) => {
      if (id === 0 || id === 3) return false;
      await clock.sleep(300);
      throw gone({ action: 'grade' });
    },
  );
  await runtime.clock.advance(2_000_000);
  const dropped = Array.from({ length: 12 }, () => 'environment_crashed');
  expect(kinds(await outcomes).filter((kind) => kind !== 'ok')).toEqual(dropped);
  expect(stops(pauses)).toHaveLength(1);
});

it('waits where no run at all is graded', async () => {
  const { outcomes, runtime, pauses } = play([task(0, 6), task(1, 6)], ({ clock }) => {
    if (clock.now() < 100_000) throw gone({ action: 'grade' });
    return false;
  });
  await runtime.clock.advance(200_000);
  expect(new Set(kinds(await outcomes))).toEqual(new Set(['ok']));
  expect(stops(pauses)).not.toEqual([]);
});

it('waits where no run at all gets beyond a step, even if each takes its action again', async () => {
  const { outcomes, runtime, pauses } = play([task(0, 2)], ({ clock }) => {
    if (clock.now() < 100_000) throw gone({ step: 1, action: 5 });
    return false;
  });
  await runtime.clock.advance(200_000);
  expect(kinds(await outcomes)).toEqual(['ok', 'ok']);
  expect(pauses.at(-1)).toBe('over');
});

it('goes on trying a run that breaks the environment at another action each time', async () => {
  let action = 0;
  const { outcomes, runtime } = play([task(0, 1), task(1, 1)], (_, id) => {
    if (id === 0 && action < 6) throw gone({ step: 2, action: action++ });
    return false;
  });
  await runtime.clock.advance(60_000);
  expect(kinds(await outcomes)).toEqual(['ok', 'ok']);
});
