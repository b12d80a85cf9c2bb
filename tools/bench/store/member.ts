/** A process of its own at the measured store. `member.ts URL ROLE` */
import { openRunStore } from '../../../packages/store/src/index.ts';
import { join, rollout, type Role } from './rollouts.ts';

const [url = '', json = ''] = process.argv.slice(2);
const role = JSON.parse(json) as Role;
const send = (value: unknown): void => void process.send?.(value);
const leaseMs = 60_000;

async function wait(batches: number): Promise<void> {
  const store = await openRunStore({ url, run: 'hand-over', leaseMs });
  const awake: number[] = [];
  await store.completeBatches(0);
  const echo = (): void => send(Number(process.hrtime.bigint()) / 1e6);
  process.on('message', echo);
  send('ready');
  while (awake.length < batches) {
    await store.changed(60_000);
    const complete = await store.completeBatches(awake.length);
    const now = Number(process.hrtime.bigint()) / 1e6;
    awake.push(...complete.map(() => now));
  }
  process.off('message', echo);
  send(awake);
  await store.close();
}

async function explore(options: Extract<Role, { kind: 'explores' }>): Promise<void> {
  const { run, name, runners, turns } = options;
  const store = await openRunStore({ url, run, leaseMs });
  const member = await join(store, name);
  send('ready');
  await new Promise((resolve) => process.once('message', resolve));
  let free = runners;
  const working = new Set<Promise<void>>();
  for (;;) {
    const tasks = await store.lease(member, { count: free, maxStep: 1 });
    if (tasks.length === 0 && working.size === 0) break;
    free -= tasks.length;
    for (const task of tasks) {
      const work = store.complete(member, task, rollout(task, turns)).then(() => {
        free += 1;
        working.delete(work);
      });
      working.add(work);
    }
    // A runner is free as soon as its result is stored.
    if (free === 0 || tasks.length === 0) await Promise.race(working);
  }
  send('done');
  await store.close();
}

if (role.kind === 'waits') await wait(role.batches);
else await explore(role);
process.disconnect();
