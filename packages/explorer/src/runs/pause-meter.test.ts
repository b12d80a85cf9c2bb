import { testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { createPauseMeter } from './pause-meter.js';

it('measures the longest time without a call in flight, the present one included', async () => {
  const { clock } = testRuntime();
  const meter = createPauseMeter(clock);
  const { promise, resolve } = Promise.withResolvers<never[]>();
  const { promise: second, resolve: resolveSecond } = Promise.withResolvers<never[]>();
  const answers = [promise, second];
  const sampler = meter.watch({
    policyVersion: 0,
    maxModelLen: 8,
    sample: () => answers.shift()!,
    adopt: () => Promise.resolve(),
  });
  const sample = (): Promise<unknown> => sampler.sample(Int32Array.of(1), {} as never);

  await clock.advance(300);
  expect(meter.longestPauseMs()).toBe(300);
  const calls = [sample(), sample()];
  await clock.advance(5000);
  resolve([]);
  await calls[0];
  await clock.advance(5000);
  expect(meter.longestPauseMs()).toBe(300);
  resolveSecond([]);
  await calls[1];
  await clock.advance(200);
  expect(meter.longestPauseMs()).toBe(300);
  await clock.advance(200);
  expect(meter.longestPauseMs()).toBe(400);
});
