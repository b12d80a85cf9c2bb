import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { answerCalls, type Handlers } from './answer.js';
import { Link, type LinkOptions } from './link.js';

interface Methods {
  add(numbers: readonly number[]): number;
  sum(numbers: Float64Array): Float64Array;
  fail(message: string): never;
  wait(): string;
}

const open: Link<Methods>[] = [];
afterEach(async () => {
  for (const link of open.splice(0)) await link.close(new Error('test ended'));
});

/** A link to handlers in this thread, and the messages that arrived there. */
function linkTo(handlers: Partial<Handlers<Methods>>, options: Partial<LinkOptions> = {}) {
  const { port1, port2 } = new MessageChannel();
  const received: unknown[] = [];
  port2.on('message', (message) => received.push(message));
  const link = new Link<Methods>(port1, {
    toError: (message: string) => new Error(message),
    ...options,
  });
  open.push(link);
  const start = (failure?: Error): void =>
    answerCalls<Methods>(
      port2,
      () => {
        if (failure) throw failure;
        return handlers as Handlers<Methods>;
      },
      {
        toRecord: (error) => (error as Error).message,
        transfer: (result) =>
          result instanceof Float64Array ? [result.buffer as ArrayBuffer] : [],
      },
    );
  return { link, received, start };
}

const add = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe('a call', () => {
  it('resolves with the result, also of a call made before the other side listens', async () => {
    const { link, start } = linkTo({ add });
    const early = link.call('add', [1, 2]);
    start();
    expect([await early, await link.call('add', [3, 4])]).toEqual([3, 7]);
  });

  it('hands buffers over in both directions', async () => {
    const { link, start } = linkTo({ sum: (numbers) => numbers.map((x) => 2 * x) });
    start();
    const numbers = Float64Array.of(1, 2);
    const doubled = link.call('sum', numbers, { transfer: [numbers.buffer] });
    expect(numbers).toHaveLength(0);
    expect([...(await doubled)]).toEqual([2, 4]);
  });

  it('rejects with the error that the method throws, or that its result cannot be sent', async () => {
    const { link, start } = linkTo({
      fail: (message) => {
        throw new Error(message);
      },
      add: () => (() => 1) as unknown as number,
    });
    start();
    await expect(link.call('fail', 'no room')).rejects.toThrow('no room');
    await expect(link.call('add', [])).rejects.toThrow('could not be cloned');
  });

  it('rejects when its argument cannot be sent', async () => {
    const { link } = linkTo({});
    await expect(link.call('add', (() => 1) as never)).rejects.toThrow('could not be cloned');
  });

  it('rejects alone among the calls that are sent with it', async () => {
    const { link, start } = linkTo({ add, sum: () => (() => 1) as never }, { batch: true });
    start();
    const calls = await Promise.allSettled([
      link.call('add', (() => 1) as never),
      link.call('add', [1, 2]),
      link.call('sum', Float64Array.of(1)),
      link.call('add', [3, 4]),
    ]);
    expect(calls.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
  });

  it('rejects with the reason for which the other side could not open', async () => {
    const { link, start } = linkTo({ add });
    start(new Error('no file'));
    const calls = [link.call('add', []), link.call('add', [])];
    for (const call of calls) await expect(call).rejects.toThrow('no file');
  });

  it('rejects with the reason of its signal, and stops the method', async () => {
    let cancelled = 0;
    const { link, received, start } = linkTo({
      add,
      wait: (_, context) => new Promise(() => context.onCancel(() => cancelled++)),
    });
    start();
    const abort = new AbortController();
    const call = link.call('wait', undefined, { signal: abort.signal });
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect(link.call('wait', undefined, { signal: abort.signal })).rejects.toBe(reason);
    await link.call('add', []);
    expect([cancelled, received.flat().length]).toEqual([1, 3]);
  });
});

describe('a link', () => {
  it('settles a burst of replies over several turns of the event loop', async () => {
    const { link, start } = linkTo({ add }, { batch: true });
    start();
    let settled = 0;
    const counts: number[] = [];
    const calls = Array.from({ length: 100 }, () => link.call('add', []));
    for (const call of calls) void call.then(() => settled++);
    while (settled < 100) {
      await new Promise(setImmediate);
      if (settled > 0) counts.push(settled);
    }
    expect(counts.length).toBeGreaterThan(1);
  });

  it('sends the calls of one turn together when it batches', async () => {
    const { link, received, start } = linkTo({ add }, { batch: true });
    start();
    await Promise.all([link.call('add', [1]), link.call('add', [2])]);
    expect(received).toHaveLength(1);
  });

  it('settles what has arrived when it is drained, though the thread was busy', async () => {
    const { link, start } = linkTo({ add });
    start();
    const call = link.call('add', [5]);
    await new Promise(setImmediate);
    link.drain();
    expect(await call).toBe(5);
  });

  it('rejects pending and later calls when it is closed', async () => {
    const { link } = linkTo({});
    const [pending, later] = [new Error('closed before'), new Error('closed')];
    const call = link.call('wait');
    await link.close(pending, later);
    await expect(call).rejects.toBe(pending);
    await expect(link.call('wait')).rejects.toBe(later);
    expect(link.closed).toBe(later);
  });
});
