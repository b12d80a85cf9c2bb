/** Tests that the wait for a free place does not count as time of the environment. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RawTask, silentLogger, systemClock } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { onTestFinished, expect, it } from 'vitest';
import { corridor } from '../src/drivers/openenv/corridor.fixture.js';
import { createSlots } from '../src/drivers/shared/slots.js';
import { pythonArgs } from '../src/drivers/python/args.js';
import { openBridged } from '../src/drivers/python/python.js';
import {
  openenv,
  serveEnvironment,
  type Environment,
  type EnvironmentDefinition,
  type Untimed,
} from '../src/index.js';
import { beginEpisode, type GuardedEpisode, type GuardOptions } from '../src/playing.js';
import { untimedOf } from '../src/waiting/deadline-clock.js';
import { broken } from '../src/waiting/within.js';

const { signal } = new AbortController();
const context = { logger: silentLogger, signal };
const go = { type: 'text', text: 'right' } as const;

async function served(definition: EnvironmentDefinition, limits: object = {}): Promise<string> {
  const server = await serveEnvironment({ definition, ...limits });
  onTestFinished(() => server.close());
  return server.url;
}

async function client(url: string, args: object = {}): Promise<Environment> {
  const environment = await openenv.open({ url, ...args }, context);
  onTestFinished(() => environment.close());
  return environment;
}

const play = (
  environment: Environment,
  { row = {}, ...guard }: Partial<GuardOptions> & { readonly row?: RawTask } = {},
): Promise<GuardedEpisode> =>
  beginEpisode(
    environment,
    { row, seed: 1 },
    { name: 'x', timeoutMs: 20_000, clock: systemClock, logger: silentLogger, signal, ...guard },
  );

type ManualClock = ReturnType<typeof manualClock>;

const longMs = 600_000;

/** Makes each wait of an environment that its time limits exclude last `longMs` on `clock`. */
const waitingLong = (environment: Environment, clock: ManualClock): Environment => ({
  ...environment,
  reset: (start, aborted) => {
    const untimed: Untimed = (wait) =>
      untimedOf(start)(async () => {
        await clock.advance(longMs);
        return wait();
      });
    return environment.reset({ ...start, untimed }, aborted);
  },
});

it('waits for one of the connections to an OpenEnv server', async () => {
  const environment = await client(await served(corridor), { max_connections: 1 });
  const clock = manualClock();
  const first = await play(environment);
  const second = play(waitingLong(environment, clock), { clock });
  await expect.poll(clock.now).toBe(longMs);
  await first.close();
  expect((await second).waitedMs()).toBe(clock.now());
});

it('waits for a place at an OpenEnv server', async () => {
  const url = await served(corridor, { maxConcurrentEnvs: 1 });
  const other = await client(url);
  const first = await other.reset({ row: {}, seed: 1 }, signal);
  const clock = manualClock();
  const second = play(waitingLong(await client(url), clock), { clock });
  // The second wait begins when the server has answered that it has no place.
  await expect.poll(clock.now).toBeGreaterThanOrEqual(2 * longMs);
  await first.close();
  await other.close();
  expect((await second).waitedMs()).toBe(clock.now());
});

it('waits for earlier calls of a Python process, at a reset and at a step', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'queue-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const until = path.join(folder, 'go-on');
  const standIn = fileURLToPath(new URL('python/stand-in.mjs', import.meta.url));
  const program = { command: process.execPath, args: [standIn] };
  const args = pythonArgs.parse({ kind: 'a:b' });
  const environment = await openBridged(args, program, signal);
  onTestFinished(() => environment.close());
  const clocks = [manualClock(), manualClock()] as const;
  const waiting = (clock: ManualClock) => play(waitingLong(environment, clock), { clock });
  const [first, second] = await Promise.all([
    play(environment, { row: { fault: { until } } }),
    waiting(clocks[0]),
  ]);
  const begun = clocks[0].now();
  const [slow, step, third] = [first.step(go), second.step(go), waiting(clocks[1])];
  await expect.poll(clocks[0].now).toBe(begun + longMs);
  // A reset waits for its process, and then for the calls before it.
  await expect.poll(clocks[1].now).toBe(2 * longMs);
  await writeFile(until, '');
  expect(await slow).toMatchObject({ done: true });
  expect(await step).toMatchObject({ observation: 'right' });
  expect([second.waitedMs(), (await third).waitedMs()]).toEqual(clocks.map(({ now }) => now()));
});

it('serves an environment whose resets wait for a place', async () => {
  const slots = createSlots(1);
  const oneByOne: EnvironmentDefinition = {
    ...corridor,
    open: async (given, opened) => {
      const environment = await corridor.open(given, opened);
      const late = () => broken('ENVIRONMENT_CAPACITY', 'There is no place.');
      const reset: Environment['reset'] = async (start, aborted) => {
        const free = await slots.take(start, { ms: 60_000, signal: aborted }, late);
        return { ...(await environment.reset(start, aborted)), close: async () => free() };
      };
      return { ...environment, reset };
    },
  };
  const url = await served(oneByOne, { timeoutMs: 500 });
  const other = await client(url);
  await other.reset({ row: {}, seed: 1 }, signal);
  setTimeout(() => void other.close(), 900);
  expect(await play(await client(url))).toMatchObject({
    observation: expect.any(String) as string,
  });
});
