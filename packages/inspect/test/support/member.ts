/** Worker process of a run for tests: `member.ts FILE RUN ROLE NAME WAIT ON LEASES`. */
import { hostname } from 'node:os';
import { systemClock } from '@trinity-rft/core';
import { openRunStore } from '@trinity-rft/buffer/run-store';

const [url = '', run = '', role, name = '', what = '', on = '', leases = '0'] =
  process.argv.slice(2);
const store = await openRunStore({ url, run });
const member = await store.join({
  role: role === 'trainer' ? 'trainer' : 'explorer',
  name,
  host: hostname(),
  pid: process.pid,
});
if (role === 'trainer') {
  const tasks = [0, 1].map((task) => ({ task, taskset: 'sums', row: task }));
  const batch = { batch: '1', step: 1, isEval: false, version: undefined, tasks };
  await store.plan(member, { step: 1, batches: [batch], feed: {} });
}
if (leases !== '0') await store.leaseTasks(member, { count: Number(leases), maxStep: 1 });
const since = performance.now();
const waits = (): { what: string; on: string; forMs: number }[] =>
  what === '' ? [] : [{ what, on, forMs: performance.now() - since }];
let isReady = false;
for (;;) {
  await store.heartbeat(member, { waits: waits(), version: 0, facts: {} });
  if (!isReady) process.stdout.write('ready\n');
  isReady = true;
  await systemClock.sleep(1000);
}
