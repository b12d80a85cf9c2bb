import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  boundary,
  causesOf,
  CancelledError,
  ConfigError,
  describeError,
  EngineError,
  ModelError,
  readableThrown,
  RewardError,
  TrinityError,
} from './errors.js';
import { toErrorRecord } from './error-record.js';

/** A second instance of the module, as in a second installed copy of the package. */
const otherCopy = (await import('./errors.js?copy' as string)) as {
  readonly TrinityError: typeof TrinityError;
  readonly ConfigError: typeof ConfigError;
};

describe('TrinityError', () => {
  it('carries name, code, details and cause', () => {
    const cause = new Error('disk full');
    const error = new EngineError('Weights could not be written.', {
      code: 'WEIGHTS',
      details: { step: 3 },
      cause,
    });
    expect(error).toMatchObject({
      name: 'EngineError',
      code: 'WEIGHTS',
      details: { step: 3 },
      cause,
      retryable: false,
    });
    expect(error).toBeInstanceOf(TrinityError);
    expect('cause' in new ConfigError('no cause')).toBe(false);
  });

  it('recognises errors of another copy of the package', () => {
    const foreign = new otherCopy.ConfigError('wrong');
    expect(foreign).not.toBeInstanceOf(TrinityError);
    expect(TrinityError.is(foreign)).toBe(true);
    expect(
      [new Error('x'), 'x', null, undefined, {}].map((value) => TrinityError.is(value)),
    ).toEqual([false, false, false, false, false]);
  });

  it('says what a client sees and whether to try again', () => {
    expect(new ModelError('busy', { status: 503, retryable: true })).toMatchObject({
      status: 503,
      retryable: true,
    });
    expect(new ModelError('bad', { status: 400 }).retryable).toBe(false);
    expect(new CancelledError('late', { reason: 'timeout' }).reason).toBe('timeout');
  });
});

describe('describeError', () => {
  it('joins the messages of an error and its causes, each once', () => {
    const inner = new Error('ENOSPC');
    const middle = new Error('ENOSPC', { cause: inner });
    expect(describeError(new EngineError('Save failed.', { cause: middle }))).toBe(
      'Save failed: ENOSPC',
    );
    const quoting = new EngineError('a.log could not be written: ENOSPC. Check it.', {
      cause: inner,
    });
    expect(describeError(quoting)).toBe('a.log could not be written: ENOSPC. Check it.');
    const within = new EngineError('a.log could not be written (ENOSPC).', { cause: inner });
    expect(describeError(within)).toBe('a.log could not be written (ENOSPC).');
    expect(describeError(new EngineError('Ended.', { cause: '.' }))).toBe('Ended.');
  });

  it.each([
    ['The tool "read" failed.', 'read', 'The tool "read" failed: read'],
    ['read failed.', 'read', 'read failed: read'],
    ['Attempt 10 failed.', '0', 'Attempt 10 failed: 0'],
    ['It failed: nothing came.', 'no', 'It failed: nothing came: no'],
    ['timeouts are not supported.', 'timeout', 'timeouts are not supported: timeout'],
  ])('keeps a cause whose letters occur in the message %j', (message, cause, expected) => {
    expect(describeError(new EngineError(message, { cause: new Error(cause) }))).toBe(expected);
  });

  it.each([
    ['a string', 'boom', 'boom'],
    ['undefined', undefined, ''],
    ['a number', 7, '7'],
    ['an error without a message', new TypeError(), 'TypeError'],
    ['an object that is no error', { status: 500 }, '{"status":500}'],
    [
      'an error of another realm',
      runInNewContext('new Error("elsewhere", { cause: new Error("there") })'),
      'elsewhere: there',
    ],
    [
      'an aggregate without a message',
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]),
      '::1 refused; 127.0.0.1 refused',
    ],
    [
      'a schema library, whose message is JSON',
      Object.assign(new Error('[{"path":["r"]}]'), {
        name: 'ZodError',
        issues: [
          { path: ['r'], message: 'expected number' },
          { path: ['layers', 0], message: 'expected text' },
          { path: [], message: 'no object' },
        ],
      }),
      'r: expected number; layers.0: expected text; no object',
    ],
  ])('describes %s', (_what, thrown, expected) => {
    expect(describeError(thrown)).toBe(expected);
  });

  it('ends on causes that go in circles', () => {
    const [a, b] = [new Error('a'), new Error('b')];
    a.cause = b;
    b.cause = a;
    expect(describeError(a)).toBe('a: b');
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(describeError(loop)).toBe('[object Object]');
  });
});

describe('what cannot be read', () => {
  const trap = (): never => {
    throw new TypeError('trap');
  };
  const hostile: readonly (readonly [string, unknown])[] = [
    ['a Proxy', new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap })],
    ['a Proxy of an error', new Proxy(new Error('inner'), { get: trap })],
    ['a message that throws', Object.defineProperty(new Error('x'), 'message', { get: trap })],
    ['a cause that throws', new Error('x', { cause: new Proxy({}, { get: trap }) })],
    ['a revoked Proxy', revoked()],
  ];

  it.each(hostile)(
    '%s is described, recorded and wrapped without a second error',
    async (_what, thrown) => {
      expect(describeError(thrown)).toContain('Something was thrown that cannot be read');
      expect(toErrorRecord(thrown).message).toContain('cannot be read');
      const wrap = (cause: unknown): TrinityError => new RewardError('It threw.', { cause });
      const wrapped: unknown = await boundary(wrap, () => Promise.reject(thrown as Error)).catch(
        (error: unknown) => error,
      );
      expect(describeError(wrapped)).toMatch(/^It threw: Something was thrown that cannot be read/);
    },
  );

  it('follows a limited number of causes, also in a circle', () => {
    const inner = new Error('inner');
    const outer = new Error('outer', { cause: inner });
    expect(causesOf(outer)).toEqual([outer, inner]);
    inner.cause = outer;
    expect(causesOf(outer)).toHaveLength(8);
    expect(causesOf('text')).toEqual([]);
  });

  it('leaves readable values as they are', () => {
    const values = [new Error('x', { cause: 'y' }), 'text', undefined, 7n, { status: 3 }];
    expect(values.map(readableThrown)).toEqual(values);
  });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('boundary', () => {
  const wrap = (cause: unknown): TrinityError =>
    new RewardError('The reward function threw.', { cause });

  it('passes results and errors of ours through and wraps the rest', async () => {
    const ours = new ConfigError('ours');
    const theirs = new TypeError('theirs');
    await expect(boundary(wrap, () => 3)).resolves.toBe(3);
    await expect(boundary(wrap, () => Promise.reject(ours))).rejects.toBe(ours);
    await expect(
      boundary(wrap, () => {
        throw theirs;
      }),
    ).rejects.toMatchObject({ name: 'RewardError', cause: theirs });
  });
});

it('bounds messages, whatever a server or an agent put into them', () => {
  const long = 'x'.repeat(30_000_000);
  for (const thrown of [new Error(long), long, new Error('short', { cause: new Error(long) })])
    expect(describeError(thrown)).toMatch(/x… \(29992000 more characters\)$/);
  const record = toErrorRecord(new Error(long));
  expect([record.message.length, (record.stack ?? '').length]).toEqual([
    expect.closeTo(8000, -2),
    expect.closeTo(20_000, -2),
  ]);
});
