/** Tests that the server ends what it began. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '@trinity-rft/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { nativeEnvironment } from '../../native/native-environment.js';
import { rowsOfSplit } from '../../native/splits.js';
import {
  defineEnvironment,
  type EnvironmentDefinition,
  type EnvironmentOptions,
} from '../../seam/define.js';
import type { Environment, Episode } from '../../seam/types.js';
import { script } from '../openenv/corridor.fixture.js';
import { serveEnvironment } from './serve.js';

const tasks: EnvironmentOptions<object>['tasks'] = ({ count }) => Array(count).fill({});
const define = (open: EnvironmentOptions<object>['open']) =>
  defineEnvironment<object>({ name: 'world', description: 'A world.', open, tasks });

/** An environment that writes what is closed to `log`. */
function logging(log: string[], reset: () => Promise<void> = async () => undefined): Environment {
  const world = nativeEnvironment(() => ({
    observation: 'begin',
    step: () => ({ observation: '', reward: 1, done: true }),
  }));
  return {
    reset: async (start, signal): Promise<Episode> => {
      const episode = await world.reset(start, signal);
      await reset();
      const close = async (): Promise<void> => {
        await sleep(100);
        log.push('episode');
      };
      return { ...episode, close };
    },
    close: async () => void log.push('environment'),
  };
}

it('closes the open episodes, then the environment, before close resolves', async () => {
  const log: string[] = [];
  const server = await serveEnvironment({ definition: define(() => logging(log)) });
  log.length = 0;
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  socket.send('{"type":"reset","data":{}}');
  await once(socket, 'message');
  await server.close();
  expect(log).toEqual(['episode', 'environment']);
});

it('aborts and closes the environment where the port is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const log: string[] = [];
  let signal: AbortSignal | undefined;
  const definition = define((_, context) => {
    ({ signal } = context);
    return logging(log);
  });
  const { port } = other.address() as AddressInfo;
  await expect(serveEnvironment({ definition, port })).rejects.toMatchObject({
    code: 'PORT_TAKEN',
  });
  expect(signal?.aborted).toBe(true);
  expect(log.at(-1)).toBe('environment');
});

it('does not wait for ever for the first episode, and closes it if it begins later', async () => {
  const log: string[] = [];
  const begins = Promise.withResolvers<void>();
  const definition = define(() => logging(log, () => begins.promise));
  await expect(serveEnvironment({ definition, timeoutMs: 50 })).rejects.toThrow(
    /did not answer reset within 0.05 s \(timeoutMs of the server\)/,
  );
  begins.resolve();
  await expect.poll(() => log).toEqual(['environment', 'episode']);
});

it('answers a reward that is no number with an error', async () => {
  const definition = define(() =>
    nativeEnvironment(() => ({
      observation: 'begin',
      step: () => ({ observation: '', reward: NaN, done: true }),
    })),
  );
  expect(await repliesOf(definition)).toMatchObject([
    { type: 'observation' },
    { type: 'error', data: { message: expect.stringMatching(/returned NaN as reward/) as string } },
  ]);
});

it('answers the end of an episode without a verdict with an error', async () => {
  expect(await repliesOf(script([]))).toMatchObject([
    { type: 'observation' },
    { type: 'error', data: { message: expect.stringMatching(/without a reward/) as string } },
  ]);
});

/** Serves an environment, and returns what it logs and the number of tasks of its splits. */
async function sizesOf(tasks: EnvironmentDefinition['tasks'], count?: number) {
  const said: string[] = [];
  const logger = { ...silentLogger, info: (message: string) => void said.push(message) };
  const definition = { ...define(() => logging([])), tasks };
  const server = await serveEnvironment({ definition, tasks: count, logger });
  onTestFinished(() => server.close());
  const sizes = ['train', 'eval'].map(async (split) => {
    const body = JSON.stringify({ split });
    const response = await fetch(`${server.url}/world/num_tasks`, { method: 'POST', body });
    return ((await response.json()) as { readonly num_tasks: number }).num_tasks;
  });
  return { said, sizes: await Promise.all(sizes) };
}

/** Draws tasks, of which there are 500. */
const few: EnvironmentDefinition['tasks'] = (range) =>
  rowsOfSplit(
    range,
    (seed) => ({ puzzle: seed % 500 }),
    ({ puzzle }) => String(puzzle),
  );

it('offers at most as many tasks as it is told to, and says where there are fewer', async () => {
  const all = await sizesOf(few);
  const [train = 0, evaluation = 0] = all.sizes;
  expect(train + evaluation).toBe(500);
  expect(all.said).toEqual([
    `world offers all tasks of split "train" that there are: ${train}.`,
    `world offers all tasks of split "eval" that there are: ${evaluation}.`,
  ]);
  expect(await sizesOf(few, 100)).toEqual({ sizes: [100, evaluation], said: [all.said[1]] });
});

it('draws the tasks of both splits before it listens, and says that it may take long', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const drawn: string[] = [];
  const { said } = await sizesOf(({ split, count }) => {
    drawn.push(split);
    vi.advanceTimersByTime(1000);
    return Array(count).fill({});
  });
  expect(drawn).toEqual(['train', 'eval']);
  expect(said).toEqual(['Draws the tasks for evaluations, which may take 10 s.']);
});

it('says nothing while it draws tasks quickly, and fails before it opens the environment', async () => {
  expect((await sizesOf(({ count }) => Array(count).fill({}))).said).toEqual([]);
  const log: string[] = [];
  const tasks = () => {
    throw new RangeError('no data');
  };
  const definition = { ...define(() => logging(log)), tasks };
  await expect(serveEnvironment({ definition })).rejects.toThrow('no data');
  expect(log).toEqual([]);
});

/** Returns the server's replies to a reset and a step. */
async function repliesOf(definition: EnvironmentDefinition): Promise<readonly unknown[]> {
  const server = await serveEnvironment({ definition });
  onTestFinished(() => server.close());
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  const replies: unknown[] = [];
  for (const message of [{ type: 'reset' }, { type: 'step', data: { message: 'x' } }]) {
    socket.send(JSON.stringify(message));
    const [data] = (await once(socket, 'message')) as [Buffer];
    replies.push(JSON.parse(data.toString()));
  }
  return replies;
}
