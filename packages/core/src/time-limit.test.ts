import { expect, it } from 'vitest';
import { withinMs } from './time-limit.js';

/** Returns work that pauses at its first `pauses` calls without computing, like a busy machine. */
const paused = (pauses: number) => {
  let calls = 0;
  const work = (): string => {
    calls++;
    if (calls <= pauses) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return 'done';
  };
  return { work, calls: () => calls };
};

it('interrupts work that computes for too long', () => {
  const endless = (): never => {
    for (;;);
  };
  expect(withinMs(200, endless)).toBeUndefined();
  expect(withinMs(1000, () => 7)).toEqual({ value: 7 });
});

it('repeats work that was interrupted because the machine paused, three times at most', () => {
  expect(withinMs(200, paused(1).work)).toEqual({ value: 'done' });
  const always = paused(Infinity);
  expect([withinMs(200, always.work), always.calls()]).toEqual([undefined, 3]);
});
