import { expect, it } from 'vitest';
import { lazily } from './lazily.js';

/** Opens with the number of the attempt; the first `failures` attempts fail. */
function counted(failures: number) {
  let attempts = 0;
  return lazily(async () => {
    attempts += 1;
    if (attempts <= failures) throw new Error(`attempt ${attempts}`);
    return attempts;
  });
}

it('opens once, also for concurrent calls', async () => {
  const value = counted(0);
  expect(await value.opened()).toBeUndefined();
  expect(await Promise.all([value.get(), value.get()])).toEqual([1, 1]);
  expect(await value.get()).toBe(1);
  expect(await value.opened()).toBe(1);
});

it('tries again after a failure, which concurrent calls share', async () => {
  const value = counted(1);
  const outcomes = await Promise.allSettled([value.get(), value.get()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await value.opened()).toBeUndefined();
  expect(await value.get()).toBe(2);
});
