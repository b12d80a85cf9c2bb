import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { writeManifest } from '@trinity-rft/core/engine';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { openServedModels, type ServedModels } from './served-models.js';

const practice = fileURLToPath(
  new URL('../../../../apps/create/templates/practice/model', import.meta.url),
);
const names = ['a', 'b', 'c', 'd', 'e'];

let served: ServedModels;
beforeEach(async () => {
  const models = Object.fromEntries(names.map((name) => [name, practice]));
  served = await openServedModels({ models, keep: 2, onEvent: () => undefined });
});
afterEach(async () => {
  vi.useRealTimers();
  await served.close();
});

/** Sends a request that takes a while. @returns the models in memory during the request */
const ask = (name: string): Promise<readonly string[]> =>
  served.use(name, async (_, ended) => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const inMemory = names.filter((each) => served.current(each) !== undefined);
    ended();
    return inMemory;
  });

/** Returns the list of the threads that the rest of the test starts; each load starts one. */
function startedWorkers(): readonly Worker[] {
  const workers: Worker[] = [];
  const onWorker = (worker: Worker): unknown => workers.push(worker);
  process.on('worker', onWorker);
  onTestFinished(() => void process.off('worker', onWorker));
  return workers;
}

it('keeps two models in memory, whatever is asked at once', async () => {
  const asked = [...names, ...names, ...names];
  for (const [i, inMemory] of (await Promise.all(asked.map(ask))).entries()) {
    expect(inMemory).toContain(asked[i]);
    expect(inMemory.length).toBeLessThanOrEqual(2);
  }
});

it('loads a model after the one that it replaces in memory is closed', async () => {
  const lines: string[] = [];
  const models = { a: practice, b: practice };
  const one = await openServedModels({ models, keep: 1, onEvent: (line) => lines.push(line) });
  onTestFinished(() => one.close());
  await one.use('a', async (model, ended) => {
    const { close } = model;
    Object.assign(model, {
      close: async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        await close();
        lines.push('closed');
        throw new Error('no such context');
      },
    });
    ended();
  });
  await one.use('b', async (_, ended) => ended());
  expect(lines).toEqual([
    expect.stringMatching(/^a: /),
    'closed',
    'a was not closed: no such context',
    expect.stringMatching(/^b: /),
  ]);
});

it('waits half a minute for a model that does not close, and says so', async () => {
  const lines: string[] = [];
  const models = { a: practice, b: practice };
  const one = await openServedModels({ models, keep: 1, onEvent: (line) => lines.push(line) });
  await one.use('a', async (model, ended) => {
    const { close } = model;
    onTestFinished(close);
    Object.assign(model, { close: () => new Promise(() => undefined) });
    ended();
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const asked = one.use('b', async (_, ended) => ended());
  await vi.advanceTimersByTimeAsync(4000);
  expect(lines).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(lines.slice(1)).toEqual(['Waiting until a is closed.']);
  await vi.advanceTimersByTimeAsync(2000);
  vi.useRealTimers();
  await asked;
  expect(lines.slice(2)).toEqual([
    'a was not closed: it did not end within 30 s',
    expect.stringMatching(/^b: /),
  ]);
  await one.close();
});

it('refuses a model for which there is no room within half a minute', async () => {
  for (const name of ['a', 'b']) await served.use(name, () => Promise.resolve());
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  const refused = ask('c').catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await refused).toMatchObject({ status: 503, code: 'models_busy', retryable: true });
  expect(served.current('c')).toBeUndefined();
});

it('forgets a model that is removed, replaced or closed while it is loaded', async () => {
  const removed = ask('a');
  served.remove('a');
  await expect(removed).rejects.toMatchObject({ status: 404 });
  const replaced = ask('b').catch((error: unknown) => error);
  served.add('b', '/nowhere');
  expect(await replaced).toMatchObject({ message: expect.stringContaining('/nowhere') });
  const closed = ask('c').catch((error: unknown) => error);
  await served.close();
  expect(await closed).toMatchObject({ status: 404 });
});

it('counts requests to weights that have been replaced or removed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let begun = 0;
  const counted = async (name: string): Promise<void> =>
    served.use(name, async (_, ended) => {
      begun++;
      await promise;
      ended();
    });
  const asked = [counted('a'), counted('b')];
  await expect.poll(() => begun).toBe(2);
  served.add('a', practice);
  served.remove('b');
  expect([served.inFlight('a'), served.inFlight()]).toEqual([1, 2]);
  resolve();
  await Promise.all(asked);
  expect(served.inFlight()).toBe(0);
});

it('leaves no model in memory where one of them cannot be loaded', async () => {
  const workers = startedWorkers();
  const models = { a: practice, b: '/nowhere' };
  const opened = openServedModels({ models, onEvent: () => undefined });
  await expect(opened).rejects.toThrow('/nowhere');
  // An ended thread has no id.
  expect(new Set(workers.map(({ threadId }) => threadId))).toEqual(new Set([-1]));
});

it('loads a new checkpoint once, and misses none that is written during a reload', async () => {
  const run = await mkdtemp(path.join(tmpdir(), 'trinity-served-'));
  const write = async (step: number): Promise<void> => {
    const folder = path.join(run, 'grpo', `global_step_${step}`);
    await cp(practice, folder, { recursive: true });
    await writeManifest(folder, { step, final: false });
  };
  await write(1);
  await writeFile(path.join(run, 'settings.json'), '{"stages":[{"stage_name":"grpo"}]}');
  const models = await openServedModels({ models: { run }, onEvent: () => undefined });
  onTestFinished(async () => {
    await models.close();
    await rm(run, { recursive: true });
  });
  await write(2);
  const workers = startedWorkers();
  const reloads = Array.from({ length: 4 }, () => models.reload());
  await expect.poll(() => workers.length).toBeGreaterThan(0);
  await write(3);
  await Promise.all([...reloads, models.reload()]);
  expect(workers).toHaveLength(2);
  expect(models.current('run')?.place.run?.step).toBe(3);
  expect(models.failures.size).toBe(0);
});
