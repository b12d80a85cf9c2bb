import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExperience, type Experience } from '@trinity-rft/core';
import type { ExperienceSource, ExperienceStore, Lease } from '@trinity-rft/core/store';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryExperienceStore } from '../store/memory.js';
import { sqliteExperienceStore } from '../store/sqlite.js';
import { fileExperienceSource } from '../supervised/file-experience-source.js';
import { asExpert, mixedExperienceSource } from './mixed-experience-source.js';
import { storedRows } from './stored-rows.js';

const folder = mkdtempSync(join(tmpdir(), 'trinity-mix-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const made = (n: number, policyVersion = 0): Experience =>
  createExperience({
    tokens: [1, 2],
    promptLength: 1,
    logprobs: [-0.5],
    reward: 1,
    policyVersion,
    eid: { batch: 'own', task: n },
    info: { n },
  });
const expert = (row: number): Experience =>
  createExperience({ tokens: [3, 4], promptLength: 1, eid: { task: row }, info: { row } });
const expertsOf = (size: number, batchSize: number, seed = 1): ExperienceSource =>
  fileExperienceSource({
    name: 'experts',
    rows: Array.from({ length: size }, () => ({})),
    toExperiences: (_rawTask, row) => [expert(row)],
    selectorType: 'shuffle',
    seed,
    batchSize,
    totalRows: Infinity,
  });
const seen = (lease: Lease | undefined) =>
  lease?.experiences.map(({ info }) => info['n'] ?? `expert ${String(info['row'])}`);

describe('mixedExperienceSource', () => {
  it('fills each batch with experiences and experts, and says how many epochs the experts have come round', async () => {
    const store = memoryExperienceStore();
    await store.put([0, 1, 2, 3].map((n) => made(n)));
    const source = mixedExperienceSource({
      experiences: store,
      experts: expertsOf(2, 2),
      expertCount: 2,
    });
    const lease = (await source.take(4))!;
    expect(seen(lease)).toEqual([
      0,
      1,
      expect.stringMatching('expert'),
      expect.stringMatching('expert'),
    ]);
    expect(lease.experiences.map(({ info }) => info['is_expert'] === true)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(lease.metrics).toMatchObject({
      'sample/task_count': 2,
      'sample/expert_task_count': 2,
      'sample/expert_epoch': 1,
    });
    await lease.acknowledge(1);
    const second = (await source.take(4))!;
    expect(second.metrics).toMatchObject({ 'sample/expert_epoch': 2 });
    await second.acknowledge(2);
    expect(await store.counts()).toMatchObject({ waiting: 0, trained: 4 });
  });

  it('gives both back, and takes them again in the same places', async () => {
    const store = memoryExperienceStore();
    await store.put([0, 1, 2, 3].map((n) => made(n)));
    const source = mixedExperienceSource({
      experiences: store,
      experts: expertsOf(5, 1),
      expertCount: 1,
    });
    const first = (await source.take(3))!;
    await first.release();
    expect(seen(await source.take(3))).toEqual(seen(first));
  });

  it('rejects stale experiences and never experts, ends with the experiences, and waits for nothing else', async () => {
    const store = memoryExperienceStore();
    await store.put([made(0, 0), made(1, 2), made(2, 2)]);
    store.finish();
    const source = mixedExperienceSource({
      experiences: store,
      experts: expertsOf(3, 2),
      expertCount: 2,
    });
    const first = (await source.take(3, { minPolicyVersion: 1 }))!;
    expect(seen(first)![0]).toBe(1);
    expect(first.metrics).toMatchObject({ 'sample/stale_dropped': 1 });
    expect(seen(await source.take(4))).toHaveLength(3);
    expect(await source.take(3)).toBeUndefined();
  });

  it('leaves the experiences where they are when the experts cannot be read or the counts do not fit', async () => {
    const store = memoryExperienceStore();
    await store.put([made(0)]);
    const source = mixedExperienceSource({
      experiences: store,
      experts: expertsOf(3, 2),
      expertCount: 1,
    });
    await expect(source.take(2)).rejects.toMatchObject({ code: 'BUFFER_COUNT' });
    expect(await store.counts()).toMatchObject({ waiting: 1, leased: 0 });
    await expect(source.take(1)).rejects.toMatchObject({ code: 'MIX_COUNT' });
    const bounded = fileExperienceSource({
      name: 'e',
      rows: [],
      toExperiences: () => [],
      batchSize: 1,
    });
    await expect(
      mixedExperienceSource({ experiences: store, experts: bounded, expertCount: 1 }).take(2),
    ).rejects.toMatchObject({
      code: 'MIX_EXPERTS_ENDED',
    });
    expect(await store.counts()).toMatchObject({ waiting: 1, leased: 0 });
  });

  it('fails with the error of the experts if the experiences cannot be released either', async () => {
    const release = () => Promise.reject(new Error('database is locked'));
    const store = memoryExperienceStore();
    await store.put([made(0)]);
    const own = { ...(await store.take(1))!, release };
    const source = mixedExperienceSource({
      experiences: { ...store, take: async () => own },
      experts: { ...store, take: () => Promise.reject(new Error('no experts')) },
      expertCount: 1,
    });
    await expect(source.take(2)).rejects.toThrow('no experts');
  });

  it('continues after a kill at any point as an uninterrupted run does, nothing trained twice and nothing skipped', async () => {
    let files = 0;
    const cases = fc.record({
      experts: fc.integer({ min: 1, max: 7 }),
      expertCount: fc.integer({ min: 1, max: 3 }),
      own: fc.integer({ min: 1, max: 3 }),
      seed: fc.nat(),
      died: fc.nat({ max: 6 }),
      saved: fc.nat({ max: 6 }),
      inStep: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ experts, expertCount, own, seed, died, saved, inStep }) => {
        const path = join(folder, `${files++}.db`);
        const open = (): { store: ExperienceStore; source: ExperienceSource } => {
          const store = sqliteExperienceStore({ path });
          return {
            store,
            source: mixedExperienceSource({
              experiences: store,
              experts: expertsOf(experts, expertCount, seed),
              expertCount,
            }),
          };
        };
        const train = async (
          source: ExperienceSource,
          from: number,
          to: number,
        ): Promise<unknown[]> => {
          const steps: unknown[] = [];
          for (let step = from; step <= to; step++) {
            const lease = (await source.take(own + expertCount))!;
            steps.push(seen(lease));
            await lease.acknowledge(step);
          }
          return steps;
        };
        const first = open();
        await first.store.put(Array.from({ length: own * 7 }, (_, n) => made(n)));
        const whole = await train(first.source, 1, 7);
        await first.source.rollback(0);
        await train(first.source, 1, died);
        if (inStep) await first.source.take(own + expertCount);
        await first.source.close();
        const step = Math.min(died, saved);
        const resumed = open();
        await resumed.source.rollback(step);
        expect(await train(resumed.source, step + 1, 7)).toEqual(whole.slice(step));
        await resumed.source.close();
      }),
      { numRuns: 25 },
    );
  });
});

it('makes a demonstration of whatever an experience was', () => {
  const call = { start: 0, end: 1, step: 0, policyVersion: 3 };
  const { info, ...rest } = asExpert({
    ...made(0, 3),
    spans: [call],
    tokenRewards: Float32Array.of(1),
    advantages: Float32Array.of(2),
    teacherLogprobs: Float32Array.of(-1),
  });
  expect(info).toEqual({ n: 0, is_expert: true });
  expect(rest).toMatchObject({
    reward: 0,
    policyVersion: -1,
    logprobs: Float32Array.of(0),
    advantages: Float32Array.of(0),
  });
  expect(Object.keys(rest)).not.toContain('spans');
  expect(Object.keys(rest)).not.toContain('tokenRewards');
});

it('reads what an earlier run has stored, again and again, and leaves it as it is', async () => {
  const path = join(folder, 'earlier.db');
  const store = sqliteExperienceStore({ path });
  await store.put([0, 1, 2].map((n) => made(n)));
  await (await store.take(2))!.acknowledge(1);
  const rows = storedRows(path);
  const source = fileExperienceSource({
    ...rows,
    name: 'earlier',
    batchSize: 2,
    totalRows: Infinity,
  });
  expect(seen(await source.take(2))).toEqual([0, 1]);
  expect(seen(await source.take(2))).toEqual([2, 0]);
  rows.close();
  expect(await store.counts()).toMatchObject({ trained: 2, waiting: 1 });
  await store.close();
});

it('names a store of experts that is empty', async () => {
  const path = join(folder, 'empty.db');
  await sqliteExperienceStore({ path }).close();
  expect(() => storedRows(path)).toThrow(`The store of experts ${path} holds no experiences`);
});
