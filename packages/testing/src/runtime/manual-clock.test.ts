import { describe, expect, it } from 'vitest';
import { manualClock } from './manual-clock.js';

describe('manualClock', () => {
  it('stands still until it is moved', async () => {
    const clock = manualClock(1000);
    let woke = false;
    const sleeping = clock.sleep(50).then(() => (woke = true));
    await clock.advance(49);
    expect([woke, clock.now(), clock.sleeping]).toEqual([false, 1049, 1]);
    await clock.advance(1);
    await sleeping;
    expect([woke, clock.now(), clock.sleeping]).toEqual([true, 1050, 0]);
  });

  it('wakes sleepers by deadline, each at its own time, those that sleep again included', async () => {
    const clock = manualClock();
    const log: string[] = [];
    const worker = async (name: string, ms: number): Promise<void> => {
      for (let i = 0; i < 2; i++) {
        await clock.sleep(ms);
        log.push(`${name}@${clock.now()}`);
      }
    };
    const done = Promise.all([worker('slow', 30), worker('fast', 20)]);
    await clock.advance(100);
    await done;
    expect(log).toEqual(['fast@20', 'slow@30', 'fast@40', 'slow@60']);
  });

  it('rejects a sleep with the reason of its signal', async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const reason = new Error('enough');
    const sleeping = clock.sleep(10, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    await expect(clock.sleep(10, controller.signal)).rejects.toBe(reason);
    expect(clock.sleeping).toBe(0);
  });

  it('moves to the next deadline, if there is one', async () => {
    const clock = manualClock();
    const sleeping = clock.sleep(7);
    expect(await clock.advanceToNext()).toBe(true);
    await sleeping;
    expect([clock.now(), await clock.advanceToNext()]).toEqual([7, false]);
  });

  it('does not go back', () => {
    expect(() => manualClock().advance(-1)).toThrow('expected 0 or more');
  });
});
