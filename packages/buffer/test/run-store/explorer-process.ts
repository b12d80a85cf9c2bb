/**
 * Explores from a store, as a separate operating-system process. `explorer-process.ts PATH NAME`
 */
import { createExperience } from '@trinity-rft/core';
import { openRunStore } from '../../src/run-store/index.js';

const [url = '', name = ''] = process.argv.slice(2);
const store = await openRunStore({ url, run: 'r', leaseMs: 1000 });
const member = await store.join({ role: 'explorer', name, host: 'h', pid: process.pid });
const beat = setInterval(() => {
  void store.heartbeat(member, { waits: [], version: 0, facts: {} });
}, 100);
process.send?.('joined');
for (;;) {
  const tasks = await store.leaseTasks(member, { count: 3, maxStep: 1000 });
  for (const task of tasks) {
    const eid = { batch: task.batch, task: task.task, run: 0, step: 0, suffix: 'a' };
    const experience = createExperience({ eid, tokens: [1, 2, 3], promptLength: 1 });
    await store.storeResult(member, task, { experiences: [experience], outcome: { name } });
  }
  const view = await store.view();
  if (view.tasks.open + view.tasks.leased === 0) break;
  if (tasks.length === 0) await store.waitForChange(200);
}
clearInterval(beat);
await store.close();
process.disconnect();
