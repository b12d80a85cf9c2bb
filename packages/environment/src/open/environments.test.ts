/** Tests that the end of a run does not depend on its environments. */
import { recordingLogger } from '@trinity-rft/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { defineEnvironment } from '../seam/define.js';
import type { Environment } from '../seam/types.js';
import { createEnvironments } from './environments.js';

const define = (open: () => Promise<Environment>) =>
  createEnvironments([defineEnvironment({ name: 'world', description: 'A world.', open })]);
const reset = () => Promise.reject(new Error('closed'));
const logger = recordingLogger();

it.each([undefined, null, {}, { reset }])(
  'ends at once if `open` returned %j in place of an environment',
  async (value) => {
    await expect(
      define(() => Promise.resolve(value as never)).open('world', {}, logger),
    ).rejects.toMatchObject({
      code: 'ENVIRONMENT_INVALID',
      details: { isOfAllRows: true },
      message: expect.stringMatching(
        /^`open` of environment "world" returned .*; expected an environment with reset and close\.$/,
      ) as unknown,
    });
  },
);

it('takes an environment of a class with its own tag', async () => {
  class World extends EventTarget {
    readonly reset = reset;
    readonly close = (): Promise<void> => Promise.resolve();
  }
  const world = new World();
  expect(await define(() => Promise.resolve(world)).open('world', {}, logger)).toBe(world);
});

it('ends although an environment neither opens nor closes, and closes it if it opens later', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const close = vi.fn<() => Promise<void>>(() => new Promise(() => undefined));
  const opens = Promise.withResolvers<Environment>();
  const environments = define(() => opens.promise);
  void environments.open('world', {}, logger);
  const closed = environments.close();
  await vi.advanceTimersByTimeAsync(60_000);
  await closed;
  expect(logger.messages('warn').at(-1)).toMatch(/not be closed: .*within 60 s/);
  opens.resolve({ reset, close });
  await vi.advanceTimersByTimeAsync(0);
  expect(close).toHaveBeenCalledTimes(1);
});
