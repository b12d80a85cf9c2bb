import { testRuntime, type TestRuntime } from '@trinity-rft/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SyncStyle } from './rules/settings.js';
import { createSynchronizer, type Synchronizer } from './synchronizer.js';

interface Bench {
  readonly sync: Synchronizer;
  readonly log: string[];
  readonly runtime: TestRuntime;
  /** Makes the trainer report that it has consumed all released experiences. */
  starve(): void;
  /**
   * Blocks the transport in this call until `finish` is called. `begun` resolves when the call
   * starts.
   */
  hold(call: string): { readonly begun: Promise<void>; finish(): void };
}

async function bench(
  style: SyncStyle,
  options: {
    interval?: number;
    trainerInterval?: number;
    maxStaleness?: number;
    failsToAdopt?: boolean;
    offset?: number;
    trainStep?: number;
    explorerVersion?: number;
    boundary?: number;
  } = {},
): Promise<Bench> {
  const runtime = testRuntime();
  const log: string[] = [];
  let starved = false;
  let released = Infinity;
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
      explorerSyncInterval: options.interval ?? 1,
      trainerSyncInterval: options.trainerInterval ?? 1,
      maxStaleness: options.maxStaleness,
      syncOffset: options.offset ?? 0,
      syncTimeoutMs: 1000,
    },
    transport: {
      publish: (version) => move(`publish ${version}`),
      adopt: async (version) => {
        if (options.failsToAdopt) throw new Error('no memory');
        await move(`adopt ${version}`);
      },
    },
    starved: () => starved,
    oldestUnusedStep: () => (starved ? undefined : 1),
    releaseUpTo: (step) => {
      if (step !== released) log.push(`release ${step}`);
      released = step;
    },
    clock: runtime.clock,
    logger: runtime.logger,
  });
  await sync.start({
    trainStep: options.trainStep ?? 0,
    explorerVersion: options.explorerVersion ?? 0,
    boundary: options.boundary ?? (options.offset ?? 0) + (options.interval ?? 1),
  });
  const starve = (): void => {
    starved = true;
    sync.setTrainerWaiting(true);
  };
  return { sync, log, runtime, starve, hold };
}

const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void promise.then(() => (done = true));
  for (let i = 0; i < 20; i++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  return done;
};

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

interface Race {
  readonly interval: number;
  readonly offset: number;
  /** Train steps that each explore step makes. */
  readonly makes: readonly number[];
  /** Numbers of event-loop turns that each side waits between two of its steps. */
  readonly order: Readonly<Record<'explorer' | 'trainer', readonly number[]>>;
}

/** Version of the weights that each explore step began with, in the style `fixed`. */
async function versionsUsed({ interval, offset, makes, order }: Race): Promise<readonly number[]> {
  const { clock, logger } = testRuntime();
  let [released, stored, trainStep, inUse, done] = [0, 0, 0, 0, false];
  const ready = (): number => sum(makes.slice(0, Math.min(stored, released)));
  const sync = createSynchronizer({
    settings: {
      syncStyle: 'fixed',
      explorerSyncInterval: interval,
      trainerSyncInterval: 1,
      syncOffset: offset,
      syncTimeoutMs: 1000,
    },
    transport: {
      publish: () => Promise.resolve(),
      adopt: (version) => Promise.resolve(void (inUse = version)),
    },
    starved: () => trainStep >= ready(),
    oldestUnusedStep: () => undefined,
    releaseUpTo: (step) => (released = step),
    clock,
    logger,
  });
  await sync.start({ trainStep: 0, explorerVersion: 0, boundary: offset + interval });
  const pause = async (side: keyof Race['order'], at: number): Promise<void> => {
    const turns = order[side][at % order[side].length]!;
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
  };
  const train = async (): Promise<void> => {
    for (let at = 0; !done; at++) {
      const waits = trainStep >= ready();
      sync.setTrainerWaiting(waits);
      if (waits) await new Promise(setImmediate);
      else await sync.trainStepDone(++trainStep);
      await pause('trainer', at);
    }
  };
  const explore = async (): Promise<readonly number[]> => {
    const used: number[] = [];
    for (let step = 1; step <= makes.length; step++) {
      used.push(inUse);
      await pause('explorer', step);
      stored = step;
      sync.exploreStepStored(step);
      if (sync.isBoundary(step)) await sync.exploreBoundary(step);
    }
    done = true;
    return used;
  };
  const [used] = await Promise.all([explore(), train()]);
  return used;
}

describe('boundaries', () => {
  it('lie every interval steps after the offset', async () => {
    const { sync } = await bench('fixed', { interval: 2, offset: 3 });
    expect([1, 2, 3, 4, 5, 6, 7].filter((step) => sync.isBoundary(step))).toEqual([5, 7]);
  });
});

it.each(['fixed', 'explorer_driven', 'trainer_driven', 'fully_async'] as const)(
  'synchronization points of %s do not depend on where weights moved',
  async (style) => {
    const { sync, starve } = await bench(style, { interval: 2, offset: 1 });
    const points = (): readonly number[] =>
      [0, 1, 2, 3, 4, 5].filter((step) => sync.isSyncPoint(step));
    const expected = style === 'fully_async' ? [] : [3, 5];
    expect(points()).toEqual(expected);
    const boundary = sync.exploreBoundary(3);
    await sync.trainStepDone(1);
    starve();
    await boundary;
    expect(points()).toEqual(expected);
  },
);

describe('an explore step that is held', () => {
  it('is withheld from the trainer in fixed, also if a synchronization point passes', async () => {
    const { sync, log, starve } = await bench('fixed', { interval: 2 });
    sync.hold(2);
    const reached = sync.exploreBoundary(1);
    starve();
    await reached;
    expect(log.slice(1)).toEqual(['release 2', 'release 1']);
    sync.exploreStepStored(2);
    expect(log.at(-1)).toBe('release 4');
  });

  it.each(['explorer_driven', 'trainer_driven', 'fully_async'] as const)(
    'is withheld from the trainer in %s, and does not count as used up',
    async (style) => {
      const parts = await bench(style, { maxStaleness: 0 });
      const { sync, log, starve } = parts;
      sync.exploreStepStored(3);
      sync.hold(3);
      starve();
      const begins = sync.streaming?.whenItMay(4) ?? sync.exploreBoundary(3);
      expect(await settled(begins)).toBe(false);
      sync.exploreStepStored(3);
      expect(await settled(begins)).toBe(true);
      expect(log.slice(1)).toEqual(['release 2', 'release Infinity']);
    },
  );
});

describe('fixed style', () => {
  it('gives the explorer the weights of the moment when all that it explored is used up', async () => {
    const { sync, log, starve } = await bench('fixed');
    const boundary = sync.exploreBoundary(1);
    sync.setTrainerWaiting(true);
    await sync.trainStepDone(1);
    await sync.trainStepDone(2);
    expect(await settled(boundary)).toBe(false);
    starve();
    expect(await boundary).toEqual({ outcome: 'updated', version: 2 });
    expect(log).toEqual(['publish 0', 'release 1', 'publish 2', 'adopt 2', 'release 2']);
  });

  it('releases to the trainer what lies before the next meeting, less the offset', async () => {
    const { sync, log, starve } = await bench('fixed', { interval: 2, offset: 1 });
    expect(log).toEqual(['publish 0', 'release 2']);
    const boundary = sync.exploreBoundary(1);
    await sync.trainStepDone(1);
    starve();
    await boundary;
    expect(log.slice(2)).toEqual(['publish 1', 'adopt 1', 'release 4']);
  });

  it('lets the explorer continue with the same weights when nothing was trained', async () => {
    const { sync, log, starve } = await bench('fixed');
    const boundary = sync.exploreBoundary(1);
    starve();
    expect(await boundary).toEqual({ outcome: 'starved', version: 0 });
    expect(log).toEqual(['publish 0', 'release 1', 'release 2']);
  });

  it('takes up again the weights that a resumed explorer had, and those that it was to get', async () => {
    const behind = await bench('fixed', { trainStep: 2, explorerVersion: 4, boundary: 6 });
    const caughtUp = behind.sync.exploreBoundary(1);
    await behind.sync.trainStepDone(3);
    await behind.sync.trainStepDone(4);
    behind.starve();
    expect(await caughtUp).toEqual({ outcome: 'starved', version: 4 });
    expect(behind.log.slice(-3)).toEqual(['publish 4', 'adopt 4', 'release 7']);
    const ahead = await bench('fixed', { trainStep: 5, explorerVersion: 4, boundary: 7 });
    const reached = ahead.sync.exploreBoundary(1);
    ahead.starve();
    expect(await reached).toEqual({ outcome: 'updated', version: 5 });
  });

  it('gives every explore step the weights made of all before its meeting point, less the offset, whoever is faster', async () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 12 });
    const settings = fc.record({
      interval: fc.integer({ min: 1, max: 4 }),
      offset: fc.integer({ min: 0, max: 3 }),
      makes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 10 }),
      pauses: fc.record({ explorer: pauses, trainer: pauses }),
    });
    await fc.assert(
      fc.asyncProperty(settings, async ({ interval, offset, makes, pauses: order }) => {
        const expected = makes.map((_, done) => {
          const meetings = Math.max(0, Math.floor((done - offset) / interval));
          return sum(makes.slice(0, meetings * interval));
        });
        expect(await versionsUsed({ interval, offset, makes, order })).toEqual(expected);
      }),
    );
  });

  it('ends the wait at its deadline with a warning, and exploring continues', async () => {
    const { sync, runtime, log } = await bench('fixed');
    const boundary = sync.exploreBoundary(1);
    await runtime.clock.advance(1000);
    expect(await boundary).toEqual({ outcome: 'timeout', version: 0 });
    expect(runtime.clock.sleeping).toBe(0);
    expect(log.at(-1)).toBe('release 2');
  });

  it('does not wait for a trainer that has stopped', async () => {
    const { sync } = await bench('fixed');
    const boundary = sync.exploreBoundary(1);
    sync.trainerStopped();
    expect((await boundary).outcome).toBe('trainer_stopped');
  });

  it('rejects waits with the cause when the other side failed', async () => {
    const { sync } = await bench('fixed');
    const boundary = sync.exploreBoundary(1);
    sync.fail(new Error('disk full'));
    await expect(boundary).rejects.toMatchObject({
      code: 'SYNC_PEER_FAILED',
      cause: { message: 'disk full' },
    });
  });

  it('stops waiting on abort', async () => {
    const { sync } = await bench('fixed');
    const abort = new AbortController();
    const boundary = sync.exploreBoundary(1, abort.signal);
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
    const boundary = sync.exploreBoundary(1);
    expect(await settled(boundary)).toBe(false);
    await sync.trainStepDone(2);
    expect(await boundary).toEqual({ outcome: 'updated', version: 2 });
    expect(log).toEqual(['publish 0', 'publish 2', 'adopt 2']);
  });

  it('publishes nothing new while the explorer fetches what it asked for', async () => {
    const { sync, log, hold } = await bench('explorer_driven');
    const fetched = hold('adopt 1');
    const boundary = sync.exploreBoundary(1);
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
    expect(await sync.exploreBoundary(1)).toEqual({ outcome: 'updated', version: 3 });
    expect(await sync.exploreBoundary(2)).toEqual({ outcome: 'unchanged', version: 3 });
  });

  it('has the weights of the trainer from the start of a resumed run', async () => {
    const { sync } = await bench('explorer_driven', { trainStep: 5, explorerVersion: 3 });
    sync.setTrainerWaiting(true);
    expect(await sync.exploreBoundary(1)).toEqual({ outcome: 'unchanged', version: 5 });
  });
});

describe('trainer-driven style', () => {
  it('publishes every interval of train steps, and the explorer takes it between explore steps', async () => {
    const { sync, log } = await bench('trainer_driven', { trainerInterval: 2 });
    await sync.trainStepDone(1);
    expect(sync.isBoundary(1)).toBe(false);
    await sync.trainStepDone(2);
    expect(sync.isBoundary(1)).toBe(true);
    expect(await sync.exploreBoundary(1)).toEqual({ outcome: 'updated', version: 2 });
    expect(log).toEqual(['publish 0', 'publish 2', 'adopt 2']);
    expect(sync.isBoundary(2)).toBe(false);
  });

  it('does not go beyond its bound when the trainer is late: it says so and waits on', async () => {
    const { sync, runtime, starve } = await bench('trainer_driven', {
      trainerInterval: 9,
      maxStaleness: 0,
    });
    sync.exploreStepStored(1);
    const boundary = sync.exploreBoundary(1);
    await runtime.clock.advance(1000);
    expect(await settled(boundary)).toBe(false);
    expect(runtime.logger.messages('warn')).toEqual([
      'Explore step 2 has waited 1000 ms for the trainer to publish weights that have used up explore step 1: explore step 2 may be 0 ahead at most (max_staleness); exploring waits on.',
    ]);
    await sync.trainStepDone(1);
    starve();
    // The version is published before the interval is over, because the explorer waits for it.
    expect(await boundary).toEqual({ outcome: 'updated', version: 1 });
  });
});

describe('fully asynchronous style', () => {
  const streamingOf = ({ sync }: Bench) => {
    if (!sync.streaming) throw new Error('The style has no boundaries.');
    return sync.streaming;
  };

  it('hands new weights to the sampler at once, one version at a time', async () => {
    const { sync, log, hold, starve } = await bench('fully_async');
    const fetched = hold('adopt 1');
    await sync.trainStepDone(1);
    await fetched.begun;
    await sync.trainStepDone(2);
    expect(log).toEqual(['publish 0', 'publish 1', 'adopt 1']);
    starve();
    fetched.finish();
    await settled(Promise.resolve());
    // The delayed publication follows without another train step.
    expect(log.slice(3)).toEqual(['publish 2', 'adopt 2']);
    expect(sync.isBoundary(1)).toBe(false);
  });

  it('begins an explore step when its bound allows it, also if nothing was trained', async () => {
    const parts = await bench('fully_async', { maxStaleness: 1 });
    const streaming = streamingOf(parts);
    expect([1, 2, 3].map((step) => streaming.mayBegin(step))).toEqual([true, true, false]);
    const begins = streaming.whenItMay(3);
    parts.sync.exploreStepStored(1);
    expect(await settled(begins)).toBe(false);
    parts.starve();
    await begins;
    expect([3, 4].map((step) => streaming.mayBegin(step))).toEqual([true, false]);
    expect(parts.log).toEqual(['publish 0']);
  });

  it('begins explore steps beyond its bound once the trainer has stopped', async () => {
    const parts = await bench('fully_async', { maxStaleness: 0 });
    const streaming = streamingOf(parts);
    const begins = streaming.whenItMay(2);
    expect(streaming.mayBegin(2)).toBe(false);
    parts.sync.trainerStopped();
    await begins;
    expect(streaming.mayBegin(2)).toBe(true);
  });

  it('answers a wait that began before an aborted one had ended', async () => {
    const parts = await bench('fully_async', { maxStaleness: 1, trainerInterval: 10 });
    const streaming = streamingOf(parts);
    parts.sync.exploreStepStored(1);
    const abort = new AbortController();
    const aborted = streaming.whenItMay(3, abort.signal).catch(() => undefined);
    expect(await settled(aborted)).toBe(false);
    abort.abort();
    const begins = streaming.whenItMay(3);
    await aborted;
    parts.starve();
    await parts.sync.trainStepDone(1);
    expect(await settled(begins)).toBe(true);
  });

  it('keeps the weights during an evaluation', async () => {
    const parts = await bench('fully_async');
    const evaluated = Promise.withResolvers<void>();
    const evaluation = parts.sync.withSteadyWeights(() => evaluated.promise);
    await parts.sync.trainStepDone(1);
    await settled(Promise.resolve());
    expect(parts.log).toEqual(['publish 0']);
    parts.starve();
    evaluated.resolve();
    await evaluation;
    await settled(Promise.resolve());
    expect(parts.log.slice(1)).toEqual(['publish 1', 'adopt 1']);
  });

  it('begins an explore step that waited for an evaluation, also if nothing was trained', async () => {
    const parts = await bench('fully_async', { maxStaleness: 0 });
    const evaluated = Promise.withResolvers<void>();
    const evaluation = parts.sync.withSteadyWeights(() => evaluated.promise);
    parts.sync.exploreStepStored(1);
    parts.starve();
    const begins = streamingOf(parts).whenItMay(2);
    expect(await settled(begins)).toBe(false);
    evaluated.resolve();
    await evaluation;
    expect(await settled(begins)).toBe(true);
  });

  it('ends the trainer, and waits, when the sampler could not take weights', async () => {
    const parts = await bench('fully_async', { maxStaleness: 0, failsToAdopt: true });
    const begins = streamingOf(parts).whenItMay(2);
    await parts.sync.trainStepDone(1);
    await expect(begins).rejects.toMatchObject({ code: 'SYNC_PEER_FAILED' });
    await expect(parts.sync.trainStepDone(2)).rejects.toThrow('no memory');
  });
});
