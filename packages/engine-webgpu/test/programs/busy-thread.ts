/** Repeatedly queues work and waits for it, through the gate in `workerData`: [calls inside, stop]. */
import { parentPort, workerData } from 'node:worker_threads';
import { open, queueWork } from '../support/open.js';

const state = workerData as Int32Array<SharedArrayBuffer>;

async function gate<T>(wait: () => Promise<T>): Promise<T> {
  const isNested = Atomics.add(state, 0, 1) > 0;
  if (!isNested && Atomics.load(state, 1) === 1) {
    Atomics.sub(state, 0, 1);
    Atomics.notify(state, 0);
    Atomics.wait(state, 1, 1);
  }
  try {
    return await wait();
  } finally {
    Atomics.sub(state, 0, 1);
    Atomics.notify(state, 0);
  }
}

const opened = await open({ gate });
let isTold = false;
for (;;)
  // Not only the wait: Dawn also aborts the process when a call returns into a thread that is being ended.
  await gate(async () => {
    opened.memory.destroy(queueWork(opened, 500_000));
    const done = opened.wait(() => opened.device.queue.onSubmittedWorkDone());
    if (!isTold) parentPort?.postMessage('waiting');
    isTold = true;
    await done;
  });
