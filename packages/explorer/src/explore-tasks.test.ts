import { SyncError, type Task } from '@trinity-rft/core';
import type { LeasedTask, Membership } from '@trinity-rft/core/store';
import { describe, expect, it } from 'vitest';
import { exploreTasks } from './explore-tasks.js';

const member: Membership = { role: 'explorer', name: 'one', host: 'here', pid: 1, epoch: 1 };
const leased: LeasedTask = {
  task: 0,
  taskset: 'sums',
  row: 0,
  batch: '1',
  step: 1,
  isEval: false,
  version: undefined,
};

/**
 * Runs an explorer whose second `follow` call is still pending, until `proved` settles, when its
 * run ends.
 * @returns the events, in order
 */
async function play(proved: Promise<boolean>): Promise<readonly string[]> {
  const events: string[] = [];
  const runEnded = Promise.withResolvers<void>();
  const stop = new AbortController();
  let looks = 0;
  let leases = 0;
  const exploring = exploreTasks({
    member,
    mayCutOff: false,
    mayBeNewer: true,
    room: async () => 1,
    store: {
      leaseTasks: async () => (leases++ === 0 ? [leased] : []),
      storeResult: async () => {
        events.push('stored');
        return 'stored';
      },
      releaseTask: async () => void events.push('released'),
      cutOffTasks: async () => [],
      waitForChange: async () => undefined,
    },
    weights: {
      version: 1,
      follow: async () => {
        if (looks++ !== 1) return true;
        runEnded.resolve();
        const result = await proved;
        events.push('proved');
        return result;
      },
    },
    taskOf: async () => ({}) as Task,
    startTask: (task) => ({
      outcome: runEnded.promise.then(() => ({
        task,
        runs: [],
        retries: 0,
        timeouts: 0,
        seconds: 0,
      })),
      cutOff: () => undefined,
    }),
    ended: async () => true,
    lookEveryMs: 1,
    signal: stop.signal,
  });
  await exploring.catch((error: unknown) => events.push((error as Error).message));
  return events;
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a run that ends while newer weights are being proved', () => {
  it('is stored once they are', async () => {
    expect(await play(soon().then(() => true))).toEqual(['proved', 'stored']);
  });

  it('is given back when they are not the trainer’s', async () => {
    const refused = soon().then((): boolean => {
      throw new SyncError('refused', { code: 'DELIVERY_REFUSED' });
    });
    const events = await play(refused);
    expect(events).toEqual(['released', 'refused']);
  });
});
