import { ConfigError, silentLogger } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { nativeEnvironment } from '../native/native-environment.js';
import type { Judge } from '../seam/types.js';
import { beginEpisode } from './guarded-episode.js';

const clock = manualClock();
const { signal } = new AbortController();
const guard = { name: 'quiz', timeoutMs: 60_000, clock, logger: silentLogger, signal };
const question = { messages: [], parse: Number, expected: 'a number' };
const say = { type: 'text', text: 'x' } as const;

it('gives the reset the time of the start, and a step its own', async () => {
  const environment = nativeEnvironment(() => ({
    observation: 'Why?',
    step: () => new Promise(() => undefined),
  }));
  const slow: typeof environment = {
    ...environment,
    reset: async (start, ended) => {
      await clock.sleep(299_000, signal);
      return environment.reset(start, ended);
    },
  };
  const begun = beginEpisode(slow, { row: {}, seed: 0 }, { ...guard, startTimeoutMs: 300_000 });
  const fault = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);
  await clock.advance(299_000);
  const stepped = fault((await begun).step(say));
  await clock.advance(60_000);
  expect(await stepped).toMatchObject({
    message: expect.stringContaining('within 60 s (workflow_args.environment_timeout)') as string,
  });
  const late = fault(
    beginEpisode(slow, { row: {}, seed: 0 }, { ...guard, startTimeoutMs: 200_000 }),
  );
  await clock.advance(200_000);
  expect(await late).toMatchObject({
    message: expect.stringContaining(
      'reset within 200 s (workflow_args.environment_start_timeout)',
    ) as string,
  });
});

it('leaves the time of the judge out of the deadline of a step, and counts it as a wait', async () => {
  const verdict = Promise.withResolvers<number>();
  const judge = { ask: () => verdict.promise } as unknown as Judge;
  const environment = nativeEnvironment((start) => ({
    observation: 'Why?',
    step: async () => {
      await start.judge?.ask(question);
      return new Promise(() => undefined);
    },
  }));
  const episode = await beginEpisode(environment, { row: {}, seed: 0, judge }, guard);
  let end: unknown;
  const ended = episode.step(say).catch((error: unknown) => (end = error));
  await clock.advance(600_000);
  verdict.resolve(1);
  await clock.advance(59_999);
  expect(end).toBeUndefined();
  await clock.advance(1);
  await ended;
  expect(end).toMatchObject({ code: 'ENVIRONMENT_TIMEOUT' });
  expect(episode.waitedMs()).toBe(660_000);
});

it('names what a step should return, if it returned nothing', async () => {
  const start = () => ({ observation: 'Why?', step: () => undefined as never });
  const episode = await beginEpisode(nativeEnvironment(start), { row: {}, seed: 0 }, guard);
  await expect(episode.step(say)).rejects.toThrow(
    'returned nothing; expected { observation, done } from a step.',
  );
});

it.each([
  [(async () => ({ observation: 'Why?', step: () => undefined })) as never, 'returned a Promise'],
  [() => ({ observation: 3, step: () => undefined }) as never, 'returned 3 as observation'],
  [() => ({ observation: 'Why?' }) as never, 'returned nothing as step; expected a function.'],
])('refuses a native world as a mistake of its author: %#', async (start, message) => {
  const begun = beginEpisode(nativeEnvironment(start), { row: {}, seed: 0 }, guard);
  const error: unknown = await begun.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(`The function given to nativeEnvironment ${message}`);
});
