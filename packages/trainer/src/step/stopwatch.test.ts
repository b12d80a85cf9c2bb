import { expect, it } from 'vitest';
import { stopwatch } from './stopwatch.js';

it('adds measurements of the same name', async () => {
  let now = 0;
  const time = stopwatch({ now: () => now });
  const sleep = (ms: number): Promise<void> =>
    Promise.resolve().then(() => {
      now += ms;
    });

  await time('forward', sleep(2000));
  await time('ref', sleep(500));
  await time('forward', sleep(1000));

  expect(time.metrics()).toEqual({
    'time/forward': 3,
    'time/ref': 0.5,
    'time/train_step': 3.5,
  });
});
