import { describe, expect, it } from 'vitest';
import { createRuntime, systemClock } from './runtime.js';

describe('createRuntime', () => {
  it('gives equal streams for equal names, whatever else was drawn', () => {
    const [a, b] = [createRuntime({ seed: 5 }), createRuntime({ seed: 5 })];
    b.random('other').next();
    expect(a.random('task', 3).next()).toBe(b.random('task', 3).next());
    expect(a.random('task', 3).next()).not.toBe(a.random('task', 4).next());
    expect(createRuntime({ seed: 6 }).seedFor('x')).not.toBe(a.seedFor('x'));
  });

  it('reads a seed as a 32-bit unsigned integer', () => {
    expect(createRuntime({ seed: -1 }).seed).toBe(4294967295);
  });

  it('gives ids that are unique and repeat from run to run', () => {
    const ids = (): string[] =>
      Array.from(
        { length: 100 },
        (() => {
          const runtime = createRuntime();
          return () => runtime.newId('call');
        })(),
      );
    expect(new Set(ids()).size).toBe(100);
    expect(ids()).toEqual(ids());
  });
});

describe('systemClock', () => {
  it('sleeps until its time or the signal, whichever comes first', async () => {
    const before = systemClock.now();
    await systemClock.sleep(5);
    expect(systemClock.now() - before).toBeGreaterThanOrEqual(4);
    const controller = new AbortController();
    const reason = new Error('enough');
    const sleeping = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    await expect(systemClock.sleep(1, controller.signal)).rejects.toBe(reason);
  });

  it('does not wake early from a sleep that is longer than a timer can wait', async () => {
    const controller = new AbortController();
    const long = systemClock.sleep(2 ** 31 + 5, controller.signal).then(
      () => 'woke',
      () => 'aborted',
    );
    const first = await Promise.race([long, systemClock.sleep(20).then(() => 'still asleep')]);
    controller.abort(new Error('enough'));
    expect([first, await long]).toEqual(['still asleep', 'aborted']);
  });
});
