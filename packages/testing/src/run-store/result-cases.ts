import { uid } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import {
  exploreAll,
  idle,
  joinExplorer,
  joinTrainer,
  numbered,
  opened,
  planOf,
  resultOf,
  uidsOf,
  type CreateRunStore,
} from './fixture.js';

export function resultCases(create: CreateRunStore): void {
  describe('results', () => {
    it('reads a batch in task order, and lists batches in the order of completion', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const member = await joinExplorer(one);
      for (const step of [1, 2, 3]) await one.plan(member, planOf(step, step === 3 ? 0 : 2));
      const tasks = await one.leaseTasks(member, { count: 9, maxStep: 9 });
      for (const task of tasks.toReversed()) await one.storeResult(member, task, resultOf(task));
      const complete = await two.batchesCompletedAfter(0);
      expect(complete.map(({ order, batch }) => [order, batch])).toEqual([
        [1, '3'],
        [2, '2'],
        [3, '1'],
      ]);
      expect(await two.batchesCompletedAfter(2)).toEqual(complete.slice(2));
      const { results, used } = await two.readBatch('1');
      expect(results.flatMap(({ experiences }) => experiences).map(({ eid }) => uid(eid))).toEqual(
        uidsOf('1', 2),
      );
      expect(results[1]).toMatchObject({ outcome: { task: 1 }, explorer: 'explorer' });
      expect(results[1]?.experiences[1]).toEqual(numbered('1', 1, 1));
      expect(used.size).toBe(0);
    });

    it('stores a result once, however often it comes', async () => {
      const test = await create();
      const store = await opened(test);
      const member = await joinExplorer(store);
      await store.plan(member, planOf(1, 2));
      const [task] = await store.leaseTasks(member, { count: 1, maxStep: 1 });
      for (let i = 0; i < 3; i++)
        expect(await store.storeResult(member, task!, resultOf(task!))).toBe('stored');
      expect(await store.view()).toMatchObject({
        tasks: { open: 1, leased: 0, done: 1 },
        experiences: { total: 2, waiting: 2, oldestVersion: 0 },
        lateResults: 0,
      });
      expect(await store.batchesCompletedAfter(0)).toEqual([]);
    });

    it('refuses a uid that is stored already, and stores nothing of its task', async () => {
      const test = await create();
      const store = await opened(test);
      const member = await joinExplorer(store);
      await store.plan(member, planOf(1, 2));
      const [a, b] = await store.leaseTasks(member, { count: 2, maxStep: 1 });
      await store.storeResult(member, a!, resultOf(a!));
      await expect(store.storeResult(member, b!, resultOf(a!))).rejects.toMatchObject({
        code: 'BUFFER_DUPLICATE',
      });
      expect((await store.view()).tasks).toEqual({ open: 0, leased: 1, done: 1 });
      expect(await store.storeResult(member, b!, resultOf(b!))).toBe('stored');
    });

    it('takes rewards of runs whose result is stored, until they are given up', async () => {
      const test = await create();
      const store = await opened(test);
      const [member, trainer] = [await joinExplorer(store), await joinTrainer(store)];
      await store.plan(member, planOf(1, 1));
      const [task] = await store.leaseTasks(member, { count: 1, maxStep: 1 });
      await store.storeResult(member, task!, { ...resultOf(task!), awaits: ['1/0/0', '1/0/1'] });
      expect(await store.batchesCompletedAfter(0)).toHaveLength(1);
      const both = ['1/0/0', '1/0/1'];
      expect(await store.takeRewards(trainer, both, 1)).toEqual(new Map());
      expect(await store.takeRewards(trainer, [], 0)).toEqual(new Map());
      expect(await store.view()).toMatchObject({ awaitedRuns: 2 });
      expect(await store.reward('1/0/0', 0.75)).toBe('stored');
      expect(await store.reward('1/0/0', 0.75)).toBe('stored');
      expect(await store.reward('1/0/0', 1)).toBe('scored');
      expect(await store.reward('1/0/7', 1)).toBe('unknown');
      for (const value of [NaN, 1e10]) expect(await store.reward('1/0/1', value)).toBe('unusable');
      const known = new Map([['1/0/0', 0.75]]);
      await expect(store.takeRewards({ ...trainer, epoch: 0 }, ['1/0/0'], 1)).rejects.toMatchObject(
        { code: 'MEMBER_FENCED' },
      );
      expect(await store.takeRewards(trainer, ['1/0/0', '1/0/7'], 1)).toEqual(known);
      expect(await store.reward('1/0/1', 1)).toBe('late');
      expect(await store.takeRewards(trainer, [...both, '1/0/7'], 1)).toEqual(known);
      expect(await store.view()).toMatchObject({ awaitedRuns: 0 });
    });

    it('cuts off what a batch does not wait for, and takes what is there of it', async () => {
      const test = await create();
      const store = await opened(test);
      const trainer = await joinTrainer(store);
      const [busy, silent] = [await joinExplorer(store), await joinExplorer(store, 'silent')];
      await store.plan(trainer, planOf(1, 4));
      const [dead] = await store.leaseTasks(silent, { count: 1, maxStep: 1 });
      const [done, slow] = await store.leaseTasks(busy, { count: 2, maxStep: 1 });
      await store.storeResult(busy, done!, resultOf(done!));
      expect(await store.countDoneTasks('1')).toBe(1);
      expect(await store.cutOffTasks(busy)).toEqual([]);
      await test.pass(test.leaseMs * 0.7);
      await store.heartbeat(busy, idle);
      await test.pass(test.leaseMs * 0.7);
      await store.cutOffBatch(trainer, '1');
      await store.cutOffBatch(trainer, '1');
      expect(await store.cutOffTasks(busy)).toEqual([slow]);
      expect(await store.batchesCompletedAfter(0)).toEqual([]);
      expect(await store.storeResult(busy, slow!, resultOf(slow!))).toBe('stored');
      expect(await store.batchesCompletedAfter(0)).toHaveLength(1);
      expect(await store.storeResult(silent, dead!, resultOf(dead!))).toBe('late');
      const outcomes = (await store.readBatch('1')).results.map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => Object.keys(outcome).length === 0)).toHaveLength(2);
    });

    it('wakes whoever waits when something is stored', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const member = await joinExplorer(one);
      await one.plan(member, planOf(1, 1));
      expect(await two.batchesCompletedAfter(0)).toEqual([]);
      // Without the wake-up signal, the waiter's next check comes too late for the test.
      const waiter = (async () => {
        do await two.waitForChange(600_000);
        while ((await two.batchesCompletedAfter(0)).length === 0);
      })();
      await exploreAll(one, member);
      await waiter;
      await expect(two.waitForChange(600_000, AbortSignal.abort())).rejects.toThrow(/aborted/);
    });
  });
}
