import { expect, it } from 'vitest';
import { inOrder } from './in-order.js';

it('work runs one piece at a time, in order, whatever fails', async () => {
  const calls = inOrder();
  const log: string[] = [];
  const work = (name: string, fails = false) =>
    calls.run(async () => {
      log.push(`${name} begins`);
      await Promise.resolve();
      log.push(`${name} ends`);
      if (fails) throw new RangeError(name);
      return name;
    });
  const outcomes = Promise.allSettled([work('a'), work('b', true), work('c')]);
  await calls.idle();
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect((await outcomes).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});
