import { expect, it } from 'vitest';
import { createStoppableClock } from './stoppable-clock.js';

/** Clock that a test advances; due callbacks run in order. */
function handClock() {
  let now = 1000;
  const due: { readonly at: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    after: (ms: number, run: () => void) => {
      const entry = { at: now + ms, run };
      due.push(entry);
      return () => void (due.includes(entry) && due.splice(due.indexOf(entry), 1));
    },
    move: (ms: number) => {
      now += ms;
      for (const entry of due.filter(({ at }) => at <= now)) {
        due.splice(due.indexOf(entry), 1);
        entry.run();
      }
    },
  };
}

it('puts its deadlines off by the time that it stands still, however often and by whom', () => {
  const hand = handClock();
  const clock = createStoppableClock(hand);
  const fired: string[] = [];
  clock.after(100, () => fired.push('early'));
  hand.move(40);
  const first = clock.stop();
  clock.after(100, () => fired.push('while it stood'));
  hand.move(500);
  const second = clock.stop();
  hand.move(500);
  first();
  first();
  hand.move(500);
  expect([fired, clock.stoppedMs(), clock.now()]).toEqual([[], 1500, 1040]);
  second();
  hand.move(59);
  expect(fired).toEqual([]);
  hand.move(1);
  expect(fired).toEqual(['early']);
  hand.move(40);
  expect(fired).toEqual(['early', 'while it stood']);
  expect([clock.stoppedMs(), clock.now()]).toEqual([1500, 1140]);
});

it('forgets what is cancelled, also while it stands still', () => {
  const hand = handClock();
  const clock = createStoppableClock(hand);
  const fired: string[] = [];
  const cancel = clock.after(10, () => fired.push('cancelled'));
  const go = clock.stop();
  cancel();
  go();
  hand.move(100);
  expect(fired).toEqual([]);
});
