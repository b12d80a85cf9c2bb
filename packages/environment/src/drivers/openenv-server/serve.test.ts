/** Tests that the server ends what it began. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger, TaskError } from '@trinity-rft/core';
import { expect, it, onTestFinished } from 'vitest';
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
  const logger = { ...silentLogger, warn: (message: string) => void said.push(message) };
  const definition = { ...define(() => logging([])), tasks };
  const server = await serveEnvironment({ definition, tasks: count, logger });
  onTestFinished(() => server.close());
  const sizes = ['train', 'eval'].map(async (split) => {
    const body = JSON.stringify({ split });
    const response = await fetch(`${server.url}/world/num_tasks`, { method: 'POST', body });
    const answer = (await response.json()) as { num_tasks?: number; detail?: string };
    return answer.num_tasks ?? answer.detail;
  });
  return { said, sizes: await Promise.all(sizes) };
}

/** Draws tasks, of which there are 500. */
const few: NonNullable<EnvironmentDefinition['tasks']> = (range) =>
  rowsOfSplit(
    range,
    (seed) => ({ puzzle: seed % 500 }),
    ({ puzzle }) => String(puzzle),
  );

it('limits the tasks to the given number, and those for evaluations to a tenth of it', async () => {
  const all = await sizesOf(few);
  const [train, evaluation] = all.sizes.map(Number) as [number, number];
  expect(train + evaluation).toBe(500);
  expect(all.said).toEqual([
    `world offers all tasks of split "train" that there are: ${train}.`,
    `world offers all tasks of split "eval" that there are: ${evaluation}.`,
  ]);
  expect(await sizesOf(few, 101)).toEqual({ sizes: [101, 11], said: [] });
});

it('serves tasks for training if there are none for evaluations', async () => {
  const tasks: EnvironmentDefinition['tasks'] = (range, args) => {
    if (range.split === 'eval') throw new Error('only for training');
    return few(range, args);
  };
  const { said, sizes } = await sizesOf(tasks, 100);
  const text = 'world offers no tasks of split "eval": only for training';
  expect([said, sizes]).toEqual([[text], [100, expect.stringContaining(text)]]);
});

it('fails before it opens the environment if there are no tasks for training', async () => {
  const log: string[] = [];
  const serve = (tasks: EnvironmentDefinition['tasks']) =>
    serveEnvironment({ definition: { ...define(() => logging(log)), tasks } });
  const failing = (error: Error) => () => {
    throw error;
  };
  await expect(serve(failing(new RangeError('no data')))).rejects.toThrow('no data');
  const none = { code: 'TASKS_TOO_FEW', details: { found: 0 } };
  await expect(serve(failing(new TaskError('only 0 tasks', none)))).rejects.toThrow('only 0 tasks');
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
