import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { expect, it } from 'vitest';

import { closeGateNow, createGateState } from './native-gate.js';

/** Work with many short calls: after about 2 s, no call is inside. */
const work = `
  const { workerData: gate, parentPort } = require('node:worker_threads');
  const count = (change) => {
    Atomics.add(gate, 0, change);
    Atomics.notify(gate, 0);
  };
  const idle = new Int32Array(new SharedArrayBuffer(4));
  count(1);
  parentPort.postMessage('inside');
  for (let call = 0; call < 40; call++) {
    count(1);
    Atomics.wait(idle, 0, 0, 25);
    count(-1);
    Atomics.wait(idle, 0, 0, 25);
  }
  count(-1);
`;

it('waits for calls until one deadline, whatever begins or ends inside', async () => {
  const gate = createGateState();
  const worker = new Worker(work, { eval: true, workerData: gate });
  const ended = once(worker, 'exit');
  await once(worker, 'message');
  expect(closeGateNow(gate, 200)).toBe(false);
  await ended;
  expect(closeGateNow(gate, 200)).toBe(true);
});
