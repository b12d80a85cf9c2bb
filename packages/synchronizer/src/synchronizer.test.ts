import { testRuntime, type TestRuntime } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import type { SyncStyle } from './sync-parts.js';
import { createSynchronizer, type Synchronizer } from './synchronizer.js';

interface Bench {
  readonly sync: Synchronizer;
  readonly log: string[];
  readonly runtime: TestRuntime;
  starve(value: boolean): void;
  /** Holds the transport in this call once it begins, until `finish`. */
  hold(call: string): { readonly begun: Promise<void>; finish(): void };
}

async function bench(
  style: SyncStyle,
  options: {
    interval?: number;
    offset?: number;
    trainStep?: number;
    explorerVersion?: number;
  } = {},
): Promise<Bench> {
  const runtime = testRuntime();
  const log: string[] = [];
  let starved = false;
  const held = new Map<string, { begin(): void; readonly finished: Promise<void> }>();
  const move = async (call: string): Promise<void> => {
    log.push(call);
    held.get(call)?.begin();
    await held.get(call)?.finished;
  };
  const hold: Bench['hold'] = (call) => {
    const begun = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<void>();
    held.set(call, { begin: begun.resolve, finished: finished.promise });
    return { begun: begun.promise, finish: finished.resolve };
  };
  const sync = createSynchronizer({
    settings: {
      syncStyle: style,
      syncInterval: options.interval ?? 1,
      syncOffset: options.offset ?? 0,
      syncTimeoutMs: 1000,
    },
    transport: {
      publish: (version) => move(`publish ${version}`),
      adopt: (version) => move(`adopt ${version}`),
    },
    starved: async () => starved,
    clock: runtime.clock,
    logger: runtime.logger,
  });
  await sync.start({
    trainStep: options.trainStep ?? 0,
    explorerVersion: options.explorerVersion ?? 0,
  });
  return { sync, log, runtime, starve: (value) => (starved = value), hold };
}

const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void promise.then(() => (done = true));
  for (let i = 0; i < 20; i++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  return done;
};

describe('boundaries', () => {
  it('lie every interval steps after the offset', async () => {
    const { sync } = await bench('fixed', { interval: 2, offset: 3 });
    expect([1, 2, 3, 4, 5, 6, 7].filter((step) => sync.isBoundary(step))).toEqual([5, 7]);
  });
});

describe('fixed style', () => {
  it('hands each publication to the explorer before the trainer continues', async () => {
    const { sync, log } = await bench('fixed');
    const boundary = sync.exploreBoundary();
    expect(await settled(boundary)).toBe(false);
    await sync.trainStepDone(1);
    expect(await boundary).toEqual({ outcome: 'updated', version: 1 });
    expect(log).toEqual(['publish 0', 'publish 1', 'adopt 1']);
  });

  it('holds the trainer at a publication until the explorer arrives', async () => {
    const { sync } = await bench('fixed');
    const step = sync.trainStepDone(1);
    expect(await settled(step)).toBe(false);
    await sync.exploreBoundary();
    expect(await settled(step)).toBe(true);
  });

  it('does not publish between two meetings', async () => {
    const { sync, log } = await bench('fixed', { interval: 3 });
    await sync.trainStepDone(1);
    await sync.trainStepDone(2);
    expect(log).toEqual(['publish 0']);
  });

  it('lets the explorer continue with old weights when the trainer has too little data', async () => {
    const { sync, starve } = await bench('fixed');
    const boundary = sync.exploreBoundary();
    sync.setTrainerWaiting(true);
    expect(await settled(boundary)).toBe(false);
    starve(true);
    sync.setTrainerWaiting(true);
    expect(await boundary).toEqual({ outcome: 'starved', version: 0 });
  });

  it('passes publications that a resumed explorer has already seen', async () => {
    const { sync, log } = await bench('fixed', { trainStep: 2, explorerVersion: 4 });
    await sync.trainStepDone(3);
    await sync.trainStepDone(4);
    const step = sync.trainStepDone(5);
    expect(await settled(step)).toBe(false);
    await sync.exploreBoundary();
    await step;
    expect(log.at(-1)).toBe('adopt 5');
  });

  it('ends both waits at their deadline with a warning, and both sides continue', async () => {
    const { sync, runtime } = await bench('fixed');
    const boundary = sync.exploreBoundary();
    await runtime.clock.advance(1000);
    expect(await boundary).toEqual({ outcome: 'timeout', version: 0 });
    const step = sync.trainStepDone(1);
    await runtime.clock.advance(1000);
    await step;
    expect(runtime.clock.sleeping).toBe(0);
  });

  it('releases each side when the other has stopped', async () => {
    const first = await bench('fixed');
    const boundary = first.sync.exploreBoundary();
    first.sync.trainerStopped();
    expect((await boundary).outcome).toBe('trainer_stopped');
    const second = await bench('fixed');
    const step = second.sync.trainStepDone(1);
    second.sync.explorerStopped();
    await step;
  });

  it('rejects waits with the cause when the other side failed', async () => {
    const { sync } = await bench('fixed');
    const boundary = sync.exploreBoundary();
    sync.fail(new Error('disk full'));
    await expect(boundary).rejects.toMatchObject({
      code: 'SYNC_PEER_FAILED',
      cause: { message: 'disk full' },
    });
  });

  it('stops waiting on abort', async () => {
    const { sync } = await bench('fixed');
    const abort = new AbortController();
    const boundary = sync.exploreBoundary(abort.signal);
    abort.abort();
    await expect(boundary).rejects.toMatchObject({ reason: 'shutdown' });
  });
});

describe('explorer-driven style', () => {
  it('never holds the trainer', async () => {
    const { sync, log } = await bench('explorer_driven');
    await sync.trainStepDone(1);
    await sync.trainStepDone(2);
    expect(log).toEqual(['publish 0']);
  });

  it('answers a request after the step in progress with the newest weights', async () => {
    const { sync, log } = await bench('explorer_driven');
    await sync.trainStepDone(1);
    const boundary = sync.exploreBoundary();
    expect(await settled(boundary)).toBe(false);
    await sync.trainStepDone(2);
    expect(await boundary).toEqual({ outcome: 'updated', version: 2 });
    expect(log).toEqual(['publish 0', 'publish 2', 'adopt 2']);
  });

  it('publishes nothing new while the explorer fetches what it asked for', async () => {
    const { sync, log, hold } = await bench('explorer_driven');
    const fetched = hold('adopt 1');
    const boundary = sync.exploreBoundary();
    await sync.trainStepDone(1);
    await fetched.begun;
    await sync.trainStepDone(2);
    expect(log).toEqual(['publish 0', 'publish 1', 'adopt 1']);
    fetched.finish();
    expect(await boundary).toEqual({ outcome: 'updated', version: 1 });
  });

  it('answers at once while the trainer waits for data', async () => {
    const { sync } = await bench('explorer_driven');
    await sync.trainStepDone(3);
    sync.setTrainerWaiting(true);
    expect(await sync.exploreBoundary()).toEqual({ outcome: 'updated', version: 3 });
    expect(await sync.exploreBoundary()).toEqual({ outcome: 'unchanged', version: 3 });
  });
});
