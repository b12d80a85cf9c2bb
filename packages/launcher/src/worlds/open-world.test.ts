import { defineEnvironment } from '@trinity-rft/environment';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openWorld } from './open-world.js';

it('waits as long for the start of an episode as a run does, so that a driver reports first', async () => {
  const slow = defineEnvironment({
    name: 'slow',
    description: 'Begins after 250 s.',
    open: () => ({
      reset: () => new Promise((resolve) => setTimeout(resolve, 250_000, episode)),
      close: async () => undefined,
    }),
  });
  const episode = {
    observation: 'Ready.',
    step: () => new Promise<never>(() => undefined),
    close: async () => undefined,
  };
  const world = await openWorld({ name: 'slow', environments: [slow] });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const beginning = world.begin({});
  await vi.advanceTimersByTimeAsync(250_000);
  const begun = await beginning;
  expect(begun.episode.observation).toBe('Ready.');
  const step = begun.episode.step({ type: 'text', text: 'x' });
  await Promise.all([
    expect(step).rejects.toThrow('within 60 s (timeoutMs)'),
    vi.advanceTimersByTimeAsync(60_000),
  ]);
});
