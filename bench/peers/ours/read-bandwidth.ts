/** Speed at which all threads together read memory, measured by comparing two large buffers. */
import { Worker } from 'node:worker_threads';
import { threads } from '../../engine/measure.ts';

const [bytes, seconds] = [256 * 2 ** 20, 2];

const reader = `
const { parentPort } = require('node:worker_threads');
const [a, b] = [Buffer.alloc(${bytes}, 1), Buffer.alloc(${bytes}, 1)];
a.equals(b);
parentPort.once('message', () => {
  const begun = performance.now();
  let read = 0;
  while (performance.now() - begun < ${seconds * 1000}) {
    if (!a.equals(b)) throw new Error('equal buffers differ');
    read += 2 * ${bytes};
  }
  parentPort.postMessage(read / ((performance.now() - begun) / 1000));
});
parentPort.postMessage('ready');
`;

/** Bandwidth in bytes per second. */
export async function readBandwidth(): Promise<number> {
  const workers = Array.from({ length: threads }, () => new Worker(reader, { eval: true }));
  const next = (worker: Worker): Promise<unknown> =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
    });
  await Promise.all(workers.map(next));
  const rates = workers.map(next);
  for (const worker of workers) worker.postMessage('go');
  const found = (await Promise.all(rates)).map(Number);
  return found.reduce((sum, rate) => sum + rate, 0);
}
