import { Worker } from 'node:worker_threads';

import { CancelledError, EngineError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';

import { EngineClient, type EngineLink, type LinkListener } from '../protocol/client.js';
import { linkTo } from './worker-link.js';

describe('a thread that dies', () => {
  it.for([
    ['throws', 'throw new RangeError("no room")', 1, 'no room'],
    ['leaves', 'process.exit(7)', 7, undefined],
  ] as const)(
    'fails every open call and every later one when it %s',
    async ([, code, exitCode, cause]) => {
      const script = `require('node:worker_threads').parentPort.once('message', () => { ${code} })`;
      const client = new EngineClient(linkTo(new Worker(script, { eval: true })));
      const open = await Promise.allSettled([
        client.call('stats', {}).result,
        client.call('publish', { version: 1 }).result,
      ]);
      const later = await Promise.allSettled([client.call('stats', {}).result]);
      for (const outcome of [...open, ...later]) {
        expect(outcome).toMatchObject({
          status: 'rejected',
          reason: { name: 'EngineError', code: 'ENGINE_WORKER_DIED', details: { exitCode } },
        });
        expect(outcome).toMatchObject({
          reason: cause === undefined ? {} : { cause: { name: 'RangeError', message: cause } },
        });
      }
      await client.close(new EngineError('closed'), new EngineError('closed'));
    },
  );
});

describe('a client', () => {
  const link = (): EngineLink & { listener: LinkListener; sent: unknown[] } => {
    const made = {
      sent: [] as unknown[],
      listener: undefined as unknown as LinkListener,
      post: (message: unknown) => void made.sent.push(message),
      listen: (listener: LinkListener) => void (made.listener = listener),
      close: () => Promise.resolve(),
    };
    return made;
  };

  it('hands out a burst of answers over several turns of the event loop', async () => {
    const wire = link();
    const client = new EngineClient(wire);
    const calls = Array.from({ length: 100 }, () => client.call('stats', {}).result);
    let answered = 0;
    for (const call of calls) void call.then(() => answered++);
    wire.listener.received(calls.map((_, i) => ({ id: i + 1, result: {} })));
    await new Promise(process.nextTick);
    expect(answered).toBeLessThan(100);
    await Promise.all(calls);
    expect(answered).toBe(100);
  });

  it('fails open and later calls with the error that ended the link', async () => {
    const wire = link();
    const client = new EngineClient(wire);
    const open = client.call('stats', {}).result;
    const error = new EngineError('gone');
    wire.listener.ended(error);
    await expect(open).rejects.toBe(error);
    await expect(client.call('stats', {}).result).rejects.toBe(error);
    expect(wire.sent).toHaveLength(1);
  });

  it('forgets a cancelled call, and its late answer', async () => {
    const wire = link();
    const client = new EngineClient(wire);
    const { result, cancel } = client.call('stats', {});
    const error = new CancelledError('enough', { reason: 'aborted' });
    cancel(error);
    cancel(error);
    await expect(result).rejects.toBe(error);
    expect(wire.sent).toEqual([{ id: 1, method: 'stats', args: {} }, { cancel: 1 }]);
    wire.listener.received([{ id: 1, result: {} }]);
    expect(wire.sent).toHaveLength(2);
  });
});
