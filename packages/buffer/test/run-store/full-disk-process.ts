/** Plans explore steps until the disk is full. `full-disk-process.ts PATH` */
import { describeError } from '@trinity-rft/core';
import { openRunStore } from '../../src/run-store/index.js';

const [url = ''] = process.argv.slice(2);
const store = await openRunStore({ url, run: 'r' });
const member = await store.join({ role: 'explorer', name: 'full', host: 'h', pid: process.pid });
const tasks = Array.from({ length: 100 }, (_, task) => ({ task, taskset: 't', row: task }));
let planned = 0;
let failure: string | undefined;
while (failure === undefined && planned < 1000) {
  const step = planned + 1;
  const batch = { batch: String(step), step, isEval: false, version: undefined, tasks };
  await store.plan(member, { step, batches: [batch], feed: {} }).then(
    () => (planned = step),
    (error: unknown) => (failure = describeError(error)),
  );
}
const { plannedUpTo } = await store.view();
process.stdout.write(JSON.stringify({ planned, failure, plannedUpTo }));
await store.close();
