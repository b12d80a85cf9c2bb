import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { reviveError, toErrorRecord } from './error-record.js';
import {
  BufferError,
  CancelledError,
  ConfigError,
  EngineError,
  ModelError,
  type TrinityError,
} from './errors.js';

/** The error as it arrives in another thread. */
async function across(error: unknown, Foreign = EngineError): Promise<TrinityError> {
  const { port1, port2 } = new MessageChannel();
  const arrived = new Promise<TrinityError>((resolve) =>
    port2.once('message', (record) => resolve(reviveError(record, Foreign))),
  );
  port1.postMessage(toErrorRecord(error));
  const revived = await arrived;
  port1.close();
  return revived;
}

describe('errors', () => {
  it('cross with class, fields and causes', async () => {
    const original = new ModelError('too many', {
      status: 429,
      retryable: true,
      code: 'BUSY',
      details: { n: 3 },
      cause: new RangeError('inner'),
    });
    const revived = await across(original);
    expect(revived).toBeInstanceOf(ModelError);
    expect(revived).toMatchObject({
      message: 'too many',
      status: 429,
      retryable: true,
      code: 'BUSY',
      details: { n: 3 },
      stack: original.stack,
    });
    expect(revived.cause).toMatchObject({ name: 'EngineError', message: 'RangeError: inner' });
  });

  it('keep their class, whichever it is; foreign ones get the one that the reader names', async () => {
    expect(await across(new ConfigError('c'))).toBeInstanceOf(ConfigError);
    expect(await across(new CancelledError('c', { reason: 'stale' }))).toMatchObject({
      name: 'CancelledError',
      reason: 'stale',
    });
    expect(await across('just text')).toMatchObject({
      name: 'EngineError',
      message: 'Error: just text',
    });
    expect(await across(new RangeError('deep'), BufferError)).toMatchObject({
      name: 'BufferError',
      message: 'RangeError: deep',
    });
  });

  it('may have details that cannot be copied', async () => {
    expect(
      (await across(new EngineError('e', { details: { n: 1, f: () => 1, u: undefined } }))).details,
    ).toEqual({ n: 1 });
    const loop: Record<string, unknown> = { n: 1 };
    loop['self'] = loop;
    const trap = Object.defineProperty({}, 'n', {
      enumerable: true,
      get: () => {
        throw new RangeError('trap');
      },
    });
    expect(
      (await across(new EngineError('e', { details: { big: 1n, loop, trap, n: [1] } }))).details,
    ).toEqual({ n: [1] });
  });

  it('keep a bounded number of causes, also of causes that go in circles', async () => {
    const [a, b] = [new Error('a'), new EngineError('b')];
    a.cause = b;
    b.cause = a;
    let depth = 0;
    for (let error: unknown = await across(a); error instanceof Error; error = error.cause) depth++;
    expect(depth).toBe(8);
  });

  it.each([
    ['an object without prototype', Object.create(null), 'Error: {}'],
    ['an object with a message', { message: 'mine' }, 'Error: mine'],
    [
      'a refused connection',
      new AggregateError([new Error('ECONNREFUSED')], ''),
      'AggregateError: ECONNREFUSED',
    ],
    ['a symbol', Symbol('mine'), 'Error: Symbol(mine)'],
    ['nothing', undefined, 'Error: undefined'],
    [
      'a message that is no text',
      Object.assign(new Error('x'), { message: { code: 1 } }),
      'Error: Error',
    ],
  ])('are recorded whatever was thrown: %s', async (_what, thrown, message) => {
    expect((await across(thrown)).message).toBe(message);
  });
});
