import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CancelledError, ConfigError, EngineError, WorkflowError } from '@trinity-rft/core';
import { afterAll, describe, expect, it } from 'vitest';
import { endErrorOf } from '../src/run/end.js';
import { firstCause, isInterrupt, writeFailure } from '../src/run/failure.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-failure-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const resource = (what: string): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => Promise.reject(new Error(`${what} cannot be closed`)),
});

describe('endErrorOf', () => {
  it('has the message that the command prints, and the causes apart', () => {
    const cause = new Error("ENOTDIR: mkdir '/x'");
    expect(endErrorOf(new ConfigError('/x cannot be written.', { code: 'FOLDER', cause }))).toEqual(
      {
        code: 'FOLDER',
        message: '/x cannot be written.',
        cause: cause.message,
      },
    );
  });

  it.each([true, false])('says whether all rollouts would fail again: %s', (willRepeat) => {
    const error = new WorkflowError('All runs failed.', { details: { willRepeat } });
    expect(endErrorOf(error).willRepeat ?? false).toBe(willRepeat);
  });
});

describe('firstCause', () => {
  it('is what the work threw, not what closing things threw after it', async () => {
    const work = async (): Promise<void> => {
      await using _store = resource('store');
      await using _engine = resource('engine');
      throw new EngineError('out of memory');
    };
    const thrown: unknown = await work().catch((error: unknown) => error);
    expect(thrown).not.toBeInstanceOf(EngineError);
    expect(firstCause(thrown)).toEqual(new EngineError('out of memory'));
  });

  it('leaves other errors, and things that are no errors, as they are', () => {
    const error = new TypeError('a');
    expect([firstCause(error), firstCause('text'), firstCause(undefined)]).toEqual([
      error,
      'text',
      undefined,
    ]);
  });
});

describe('isInterrupt', () => {
  it('holds for work that was given up for the signal, however deep that is told, and for nothing else', () => {
    const interrupt = new AbortController();
    const cancelled = new CancelledError('stopped', { reason: 'shutdown' });
    const wrapped = new TypeError('reading failed', { cause: new DOMException('', 'AbortError') });
    expect([cancelled, wrapped].map((error) => isInterrupt(error, interrupt.signal))).toEqual([
      false,
      false,
    ]);
    interrupt.abort();
    expect(
      [cancelled, wrapped, interrupt.signal.reason].map((error) =>
        isInterrupt(error, interrupt.signal),
      ),
    ).toEqual([true, true, true]);
    expect(
      [new EngineError('dead'), 'text'].map((error) => isInterrupt(error, interrupt.signal)),
    ).toEqual([false, false]);
  });
});

describe('writeFailure', () => {
  it('leaves the stacks of an error and of its causes', async () => {
    await writeFailure(root, new EngineError('outer', { cause: new TypeError('inner') }));
    expect(readFileSync(path.join(root, 'failure.txt'), 'utf8')).toMatch(
      /^EngineError: outer\n {4}at [^]*\[cause\]: TypeError: inner\n {6,}at /,
    );
  });

  it('leaves out what else errors carry, and keys in their messages', async () => {
    const refused = Object.assign(
      new TypeError('401 for Authorization: Bearer sk-abcdefghijklmnopqrstuvwx'),
      {
        config: { headers: { 'x-team': 'zebra' } },
      },
    );
    await writeFailure(root, new EngineError('outer', { cause: refused }));
    const text = readFileSync(path.join(root, 'failure.txt'), 'utf8');
    expect(text).toContain('401 for');
    expect(text).not.toMatch(/zebra|sk-abc/);
  });

  it('comes to an end with causes that go in circles, and with what is no error', async () => {
    const circle = new TypeError('round');
    circle.cause = circle;
    await writeFailure(root, circle);
    expect(
      readFileSync(path.join(root, 'failure.txt'), 'utf8').match(/TypeError: round/g)!.length,
    ).toBeLessThan(12);
    await writeFailure(root, 'text');
    expect(readFileSync(path.join(root, 'failure.txt'), 'utf8')).toBe('text\n');
  });

  it('does not add a failure of its own', async () => {
    await expect(
      writeFailure(path.join(root, 'gone'), new TypeError('a')),
    ).resolves.toBeUndefined();
  });
});
