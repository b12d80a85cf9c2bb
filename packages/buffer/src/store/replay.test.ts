// Order in which experiences are reused: traces of Trinity-RFT's tests/buffer/queue_test.py
// (Apache-2.0), restarts, and deletions.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExperience, uid } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { manualClock } from '@trinity-rft/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryExperienceStore } from './memory.js';
import { epochs, priorityReplay, type PriorityReplayOptions } from './reuse.js';
import { sqliteExperienceStore } from './sqlite.js';

const folder = mkdtempSync(join(tmpdir(), 'replay-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const replay = (options: Partial<PriorityReplayOptions> = {}) => {
  const clock = manualClock();
  const reuse = priorityReplay({
    priorityFn: 'linear_decay',
    reuseCooldownMs: 500,
    seed: 42,
    capacity: 4,
    needsNew: false,
    endsWithoutNew: true,
    clock,
    ...options,
  });
  return { clock, reuse };
};

/** An explore step of two experiences, made by version `step - 1`. */
const explore = (step: number, policyVersion = step - 1) =>
  [0, 1].map((run) =>
    createExperience({
      eid: { batch: step, task: 0, run },
      tokens: [1, 2],
      promptLength: 1,
      policyVersion,
    }),
  );

/** Versions of two items, and the number of uses of each, including this one. */
const versionsOf = (lease: Awaited<ReturnType<ExperienceStore['take']>>) =>
  [0, 2].map((i) => lease?.experiences[i]?.policyVersion);

const stores = {
  memory: (options: Parameters<typeof memoryExperienceStore>[0]) => memoryExperienceStore(options),
  sqlite: (options: Parameters<typeof memoryExperienceStore>[0]) =>
    sqliteExperienceStore({ ...options, path: join(folder, `${files++}.db`) }),
};

describe.each(Object.entries(stores))('%s', (_name, open) => {
  const traces = [
    {
      title: 'linear_decay',
      options: { priorityFnArgs: { decay: 0.6 } },
      expected: [
        [4, 3],
        [4, 3],
        [4, 2],
        [4, 3],
        [4, 2],
        [3, 1],
      ],
    },
    {
      title: 'decay_limit_randomization, two uses each',
      options: {
        priorityFn: 'decay_limit_randomization' as const,
        priorityFnArgs: { decay: 1.2, useCountLimit: 2, sigma: 0 },
      },
      expected: [
        [4, 3],
        [4, 2],
        [3, 1],
        [2, 1],
      ],
    },
  ];
  it.each(traces)('comes in the order of Trinity-RFT: $title', async ({ options, expected }) => {
    const { clock, reuse } = replay(options);
    const store = open({ reuse });
    for (let step = 1; step <= 5; step++) await store.put(explore(step));
    const seen: unknown[] = [];
    for (const [i] of expected.entries()) {
      const lease = await store.take(4);
      seen.push(versionsOf(lease));
      await lease?.acknowledge(i + 1);
      await clock.advance(1000);
    }
    expect(seen).toEqual(expected);
    await store.close();
  });

  it('drops what is one too many, and counts it', async () => {
    const { reuse } = replay({ capacity: 8, reuseCooldownMs: undefined });
    const store = open({ reuse });
    for (let step = 1; step <= 12; step++) await store.put(explore(step));
    const lease = await store.take(16);
    expect(lease?.experiences.map(({ policyVersion }) => policyVersion)).toEqual(
      [11, 10, 9, 8, 7, 6, 5, 4].flatMap((version) => [version, version]),
    );
    expect(lease?.metrics).toMatchObject({
      'sample/replay/dropped': 8,
      'sample/stale_dropped': 0,
      'sample/experience_count': 16,
    });
    await lease?.acknowledge(1);
    expect(await store.counts()).toEqual({ total: 24, waiting: 0, leased: 0, trained: 16 });
    store.finish();
    expect(await store.take(1)).toBeUndefined();
    await store.close();
  });

  it('waits for the end of a pause, and for something new', async () => {
    const { clock, reuse } = replay({ needsNew: true });
    const store = open({ reuse });
    await store.put(explore(1));
    await (await store.take(2))?.acknowledge(1);
    let served = false;
    const pending = store.take(4).finally(() => (served = true));
    await clock.advance(1000);
    expect(served).toBe(false);
    await store.put(explore(2));
    const lease = await pending;
    expect(versionsOf(lease)).toEqual([1, 0]);
    expect(lease?.metrics).toMatchObject({
      'sample/replay/share': 0.5,
      'sample/replay/use_count/max': 2,
      'sample/replay/age/max': 1,
    });
    await lease?.acknowledge(2);
    store.finish();
    expect(await store.take(4)).toBeUndefined();
    await store.close();
  });

  it('makes a train step again with the same batch', async () => {
    const { clock, reuse } = replay({ reuseCooldownMs: 1000 });
    const store = open({ reuse });
    for (let step = 1; step <= 3; step++) await store.put(explore(step));
    const train = async (step: number): Promise<readonly string[]> => {
      const lease = await store.take(4);
      await lease?.acknowledge(step);
      return lease?.experiences.map(({ eid }) => uid(eid)) ?? [];
    };
    const first = await train(1);
    await clock.advance(1000);
    const second = await train(2);
    await store.rollback(1);
    // All cooldowns are over, and there is a newer experience: neither changes step 2.
    await clock.advance(5000);
    await store.put(explore(4));
    expect(await store.lastTrainStep()).toBe(1);
    expect(await train(2)).toEqual(second);
    expect(await train(3)).toContain('4/0/0/0/');
    await store.rollback(0);
    expect(await train(1)).toEqual(first);
    await store.close();
  });

  it('makes passes, each in an order of its own', async () => {
    const order = async (seed: number, breakAfter = Infinity): Promise<readonly string[]> => {
      const store = open({ reuse: epochs({ totalEpochs: 3, seed, clock: manualClock() }) });
      for (let step = 1; step <= 4; step++) await store.put(explore(step));
      store.finish();
      const seen: string[] = [];
      for (let step = 1; ; step++) {
        const lease = await store.take(2);
        if (!lease) break;
        await lease.acknowledge(step);
        seen.push(lease.experiences.map(({ eid }) => eid.batch).join());
        if (step === breakAfter) {
          await store.rollback(step - 2);
          seen.splice(step - 2);
          step -= 2;
          breakAfter = Infinity;
        }
      }
      await store.close();
      return seen;
    };
    const whole = await order(42);
    expect(whole.slice(0, 4)).toEqual(['1,1', '2,2', '3,3', '4,4']);
    for (const epoch of [whole.slice(4, 8), whole.slice(8)])
      expect(epoch.toSorted()).toEqual(whole.slice(0, 4));
    expect(whole.slice(4, 8)).not.toEqual(whole.slice(8));
    expect(await order(42, 6)).toEqual(whole);
    expect(await order(7)).not.toEqual(whole);
  });
});

it('keeps uses and pauses when it is opened again, and deletes only what is used up', async () => {
  const { clock, reuse } = replay({
    priorityFn: 'decay_limit_randomization',
    priorityFnArgs: { useCountLimit: 2, sigma: 0.5 },
    reuseCooldownMs: 10_000,
  });
  const path = join(folder, 'again.db');
  const reopen = () => sqliteExperienceStore({ path, reuse });
  let store = reopen();
  await store.put([...explore(1), ...explore(2)]);
  await (await store.take(2))?.acknowledge(1);
  await store.close();
  store = reopen();
  const second = await store.take(2);
  expect(second?.experiences[0]?.policyVersion).toBe(0);
  await second?.acknowledge(2);
  await store.prune(2);
  expect(await store.counts()).toEqual({ total: 4, waiting: 0, leased: 0, trained: 4 });
  // Both are in their cooldown.
  let served = false;
  const pending = store.take(4).finally(() => (served = true));
  await clock.advance(9_000);
  expect(served).toBe(false);
  await clock.advance(1_000);
  const both = await pending;
  expect(both?.experiences).toHaveLength(4);
  await both?.acknowledge(3);
  await store.prune(3);
  await store.close();
  store = reopen();
  expect(await store.counts()).toEqual({ total: 4, waiting: 0, leased: 0, trained: 4 });
  await expect(store.rollback(1)).rejects.toThrow(/keep_trained_steps/);
  store.finish();
  expect(await store.take(1)).toBeUndefined();
  await store.close();
});

it.each([
  ['a lower use_count_limit', { priorityFnArgs: { useCountLimit: 1 } }],
  ['no reuse_cooldown_time', { reuseCooldownMs: undefined }],
])('makes recorded train steps again with %s, and then obeys it', async (_name, options) => {
  const path = join(folder, `fewer-${files++}.db`);
  const open = (changed: Partial<PriorityReplayOptions> = {}) => {
    const { clock, reuse } = replay({
      priorityFn: 'decay_limit_randomization',
      priorityFnArgs: { useCountLimit: 3 },
      ...changed,
    });
    return { clock, store: sqliteExperienceStore({ path, reuse }) };
  };
  const before = open();
  await before.store.put(explore(1));
  for (let step = 1; step <= 3; step++) {
    await (await before.store.take(2))?.acknowledge(step);
    await before.clock.advance(1000);
  }
  await before.store.close();
  const { clock, store } = open(options);
  await store.rollback(1);
  store.finish();
  await (await store.take(2))?.release();
  for (let step = 2; step <= 3; step++) {
    const lease = await store.take(2);
    expect(lease?.experiences).toHaveLength(2);
    await lease?.acknowledge(step);
  }
  await clock.advance(1000);
  expect(await store.take(2)).toBeUndefined();
  await store.close();
});
