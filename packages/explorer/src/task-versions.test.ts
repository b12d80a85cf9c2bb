import type { Task } from '@trinity-rft/core';
import type { LeasedTask, Membership } from '@trinity-rft/core/store';
import { expect, it } from 'vitest';
import { exploreTasks } from './explore-tasks.js';

const planned = (version: number | undefined): LeasedTask => ({
  batch: '1',
  step: 1,
  isEval: false,
  version,
  task: 0,
  taskset: 'set',
  row: 0,
});
const member: Membership = { role: 'explorer', name: 'one', host: 'here', pid: 1, epoch: 1 };

/** Offers one task to an explorer with version 4; returns its actions. */
async function offered(task: LeasedTask, mayBeNewer: boolean): Promise<string> {
  const events: string[] = [];
  const open = [task];
  await exploreTasks({
    store: {
      leaseTasks: async () => open.splice(0),
      storeResult: async () => (events.push('explored'), 'stored'),
      releaseTask: async () => void events.push('released'),
      cutOffTasks: async () => [],
      waitForChange: async () => undefined,
    },
    member,
    weights: { version: 4, follow: async () => true },
    mayBeNewer,
    mayCutOff: false,
    room: async () => 1,
    taskOf: async () => ({}) as Task,
    startTask: (of) => ({
      outcome: Promise.resolve({ task: of, runs: [], retries: 0, timeouts: 0, seconds: 0 }),
      cutOff: () => undefined,
    }),
    ended: async () => open.length === 0,
    lookEveryMs: 1,
    signal: new AbortController().signal,
  });
  return events.join();
}

it.each([
  ['for these weights', 4, false, 'explored'],
  ['for any weights', undefined, false, 'explored'],
  ['for newer weights', 5, false, 'released'],
  ['for newer weights', 5, true, 'released'],
  ['for older weights, exactly', 3, false, 'released'],
  ['for these older weights or newer ones', 3, true, 'explored'],
] as const)(
  'a task planned %s (%s) is sampled by them only',
  async (_what, version, newer, end) => {
    expect(await offered(planned(version), newer)).toBe(end);
  },
);
