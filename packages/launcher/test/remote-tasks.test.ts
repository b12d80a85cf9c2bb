/** The trainer's side of tasks that other processes explore. */
import type { Wait } from '@trinity-rft/core/store';
import { toTaskResult } from '@trinity-rft/explorer/internal';
import { memoryRunStore } from '@trinity-rft/buffer/internal';
import { manualClock, testTask } from '@trinity-rft/testing';
import { expect, it, onTestFinished } from 'vitest';
import { remoteTasks } from '../src/modes/distributed/remote-tasks.js';
import type { JoinedRun } from '../src/modes/distributed/join-run.js';

it('does not count seconds in which an explorer waits for an environment as grace', async () => {
  const clock = manualClock();
  const shared = await memoryRunStore(() => clock.now());
  onTestFinished(() => shared.close());
  const store = await shared.open({ run: 'run', leaseMs: 1e9, clock });
  const here = { host: 'here', pid: 1 };
  const trainer = await store.join({ role: 'trainer', name: 'trainer', ...here });
  const explorer = await store.join({ role: 'explorer', name: 'explorer', ...here });
  const says = (waits: readonly Wait[]) =>
    store.heartbeat(explorer, { waits, version: 0, facts: {} });
  const looks: (() => void)[] = [];
  const looking: { readonly waitForChange: typeof store.waitForChange } = {
    waitForChange: () => new Promise<void>((resolve) => looks.push(resolve)),
  };
  /**
   * Lets the trainer read the store after `seconds`; returns the number of tasks that are cut off.
   */
  const look = async (seconds: number): Promise<number> => {
    await expect.poll(() => looks.length).toBe(1);
    await clock.advance(seconds * 1000);
    looks.splice(0).forEach((next) => next());
    await expect.poll(() => looks.length).toBe(1);
    return (await store.cutOffTasks(explorer)).length;
  };
  const { run } = await remoteTasks({
    store: { ...store, ...looking },
    joined: { member: trainer, waitFor: (_, work) => work() } as JoinedRun,
    version: () => 0,
    overRollout: { ratio: 0.5, waitAfterMinMs: 30_000, returnPartialTasks: false },
    clock,
    lookEveryMs: 1000,
  });
  const task = (taskId: number) => testTask({ taskId, batchId: 1, repeatTimes: 1 });
  const { signal } = new AbortController();
  const all = run([task(0), task(1)], signal);
  await expect.poll(() => looks.length).toBe(1);
  const [first, second] = await store.leaseTasks(explorer, { count: 2, maxStep: Infinity });
  if (first === undefined || second === undefined) throw new RangeError('There is no task.');
  const outcome = { runs: [], retries: 0, timeouts: 0, seconds: 1, environmentWaitSeconds: 3600 };
  await store.storeResult(explorer, first, toTaskResult({ task: task(0), ...outcome }));
  expect(await look(0)).toBe(0);
  expect(await look(20)).toBe(0);
  await says([{ what: 'environment "w", which fails', on: undefined, forMs: 1 }]);
  expect(await look(3600)).toBe(0);
  await says([]);
  expect(await look(5)).toBe(0);
  expect(await look(5)).toBe(1);
  await store.storeResult(explorer, second, toTaskResult({ task: task(1), ...outcome }));
  looks.splice(0).forEach((next) => next());
  expect(await all).toMatchObject([{ environmentWaitSeconds: 3600 }, { seconds: 1 }]);
});
