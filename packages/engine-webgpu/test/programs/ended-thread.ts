/** Ends a thread during a wait: closes the thread's gate, and terminates the thread when no wait is pending. */
import { Worker } from 'node:worker_threads';

const state = new Int32Array(new SharedArrayBuffer(8));
const worker = new Worker(new URL('busy-thread.ts', import.meta.url), { workerData: state });
await new Promise((resolve) => worker.once('message', resolve));
const inside = Atomics.load(state, 0);
Atomics.store(state, 1, 1);
for (let calls = inside; calls > 0; calls = Atomics.load(state, 0))
  await Atomics.waitAsync(state, 0, calls).value;
await worker.terminate();
process.stdout.write(`ended with ${inside} inside`);
