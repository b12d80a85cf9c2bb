import { expect, it } from 'vitest';
import { stoppable } from './gguf.js';

it('reads no more of the weights after the signal aborts', async () => {
  const read: number[] = [];
  const weights = {
    tensors: new Map(),
    read: () => Promise.resolve(new Float32Array(1)),
    async *readParts() {
      for (let part = 0; part < 3; part++) {
        read.push(part);
        yield await Promise.resolve(new Float32Array(1));
      }
    },
  };
  const stop = new AbortController();
  const reason = new Error('stopped');
  const { read: readOne, readParts } = stoppable(weights, stop.signal);
  await readOne('a');
  const parts = readParts!('a')[Symbol.asyncIterator]();
  await parts.next();
  stop.abort(reason);
  await expect(parts.next()).rejects.toBe(reason);
  expect(read).toEqual([0, 1]);
  await expect(readOne('a')).rejects.toBe(reason);
});
