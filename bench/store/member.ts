/** `member.ts URL ROLE`: a separate process with the measured store. */
import { setTimeout as pause } from 'node:timers/promises';
import type { LeasedTask } from '../../packages/core/src/store-seam.ts';
import { openRunStore } from '../../packages/buffer/src/run-store/index.ts';
import { drawRollout, join, rollout, type Role } from './rollouts.ts';

const [url = '', json = ''] = process.argv.slice(2);
const role = JSON.parse(json) as Role;
const send = (value: unknown): void => void process.send?.(value);
const leaseMs = 60_000;

async function wait(batches: number): Promise<void> {
  const store = await openRunStore({ url, run: 'hand-over', leaseMs });
  const awake: number[] = [];
  await store.batchesCompletedAfter(0);
  const echo = (): void => send(Number(process.hrtime.bigint()) / 1e6);
  process.on('message', echo);
  send('ready');
  while (awake.length < batches) {
    await store.waitForChange(60_000);
    const complete = await store.batchesCompletedAfter(awake.length);
    const now = Number(process.hrtime.bigint()) / 1e6;
    awake.push(...complete.map(() => now));
  }
  process.off('message', echo);
  send(awake);
  await store.close();
}

async function explore(options: Extract<Role, { kind: 'explores' }>): Promise<void> {
  const { run, name, runners, work } = options;
  const store = await openRunStore({ url, run, leaseMs });
  const member = await join(store, name);
  send('ready');
  await new Promise((resolve) => process.once('message', resolve));
  let [working, hasMore] = [0, true];
  while (hasMore || working > 0) {
    const { promise: freed, resolve: free } = Promise.withResolvers<void>();
    wake = free;
    const count = hasMore ? runners - working : 0;
    const tasks = count > 0 ? await store.leaseTasks(member, { count, maxStep: 1 }) : [];
    if (count > 0) hasMore = tasks.length > 0;
    working += tasks.length;
    for (const task of tasks)
      // A runner is free once its result is stored.
      void roll(task).then(() => {
        working -= 1;
        wake();
      });
    if (working > 0) await freed;
  }
  send('done');
  await store.close();

  async function roll(task: LeasedTask): Promise<void> {
    const { turns, sleepsMs } = drawRollout(task.task, work);
    for (const ms of sleepsMs) await pause(ms);
    await store.storeResult(member, task, rollout(task, turns));
  }
}

let wake = (): void => undefined;

if (role.kind === 'waits') await wait(role.batches);
else await explore(role);
process.disconnect();
