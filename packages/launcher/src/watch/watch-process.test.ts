import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createSynchronizer, type Synchronizer } from '@trinity-rft/synchronizer';
import { testRuntime } from '@trinity-rft/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readProcessBeat } from './process-file.js';
import { watchProcess, type ProcessWatch } from './watch-process.js';

let folder: string;
let watched: ProcessWatch;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-watch-'));
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  watched = watchProcess(folder);
});
afterEach(() => {
  watched.close();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a synchronizer whose sampler has the weights that were last adopted. */
async function started(syncStyle: 'fully_async' | 'trainer_driven'): Promise<Synchronizer> {
  let version = 0;
  const { clock, logger } = testRuntime();
  const intervals = { explorerSyncInterval: 1, trainerSyncInterval: 1, syncOffset: 0 };
  const inner = createSynchronizer({
    settings: { syncStyle, ...intervals, syncTimeoutMs: 60_000, maxStaleness: 1 },
    transport: {
      publish: () => Promise.resolve(),
      adopt: async (adopted) => void (version = adopted),
    },
    starved: () => false,
    oldestUnusedStep: () => undefined,
    releaseUpTo: () => undefined,
    clock,
    logger,
  });
  const synchronizer = watched.watch(inner, () => version);
  await synchronizer.start({ trainStep: 0, explorerVersion: 0, boundary: 1 });
  return synchronizer;
}

async function status() {
  vi.advanceTimersByTime(1000);
  const { progress, waits } = (await readProcessBeat(folder))!;
  return { version: progress.version, explorer: waits.explorer.map(({ what }) => what) };
}

it('shows the weights that move during rollouts', async () => {
  const synchronizer = await started('fully_async');
  synchronizer.exploreStepStored(1);
  await synchronizer.trainStepDone(1);
  await expect.poll(status).toEqual({ version: 1, explorer: [] });
});

it('shows the weights of an evaluation', async () => {
  const synchronizer = await started('trainer_driven');
  synchronizer.exploreStepStored(1);
  await synchronizer.trainStepDone(1);
  const { version } = await synchronizer.withSteadyWeights(status);
  expect(version).toBe(1);
});

it('shows the wait for an explore step if no other step is in progress', async () => {
  const synchronizer = await started('fully_async');
  const stop = new AbortController();
  const wait = async (step: number) => {
    const waiting = synchronizer.streaming!.whenItMay(step, stop.signal).catch(() => undefined);
    return { waiting, seen: (await status()).explorer };
  };
  synchronizer.exploreStepStored(8);
  const later = await wait(10);
  const next = await wait(9);
  expect([later.seen, next.seen]).toEqual([[], ['its turn after explore step 8']]);
  stop.abort();
  await Promise.all([next.waiting, later.waiting]);
  expect((await status()).explorer).toEqual([]);
});
