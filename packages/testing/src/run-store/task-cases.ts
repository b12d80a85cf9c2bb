import { describe, expect, it } from 'vitest';
import {
  exploreAll,
  idle,
  joinExplorer,
  opened,
  openedWithCopies,
  planOf,
  resultOf,
  type CreateRunStore,
} from './fixture.js';

export function taskCases(create: CreateRunStore): void {
  describe('tasks', () => {
    it('plans every explore step once, whoever is faster', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const [a, b] = [await joinExplorer(one, 'a'), await joinExplorer(two, 'b')];
      expect(await one.lastPlan()).toBeUndefined();
      const planned = await Promise.all([one.plan(a, planOf(1, 2)), two.plan(b, planOf(1, 2))]);
      expect(planned.filter(Boolean)).toHaveLength(1);
      expect(await two.plan(b, planOf(3, 2))).toBe(false);
      expect(await two.plan(b, planOf(2, 2))).toBe(true);
      expect(await one.lastPlan()).toEqual({ step: 2, feed: { cursor: 4 } });
      expect((await one.view()).tasks).toEqual({ open: 4, leased: 0, done: 0 });
    });

    it('leases each task to one member, oldest first, up to a step', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const [a, b] = [await joinExplorer(one, 'a'), await joinExplorer(two, 'b')];
      await one.plan(a, planOf(1, 3));
      await one.plan(a, planOf(2, 3));
      const first = await one.leaseTasks(a, { count: 2, maxStep: 2 });
      const second = await two.leaseTasks(b, { count: 9, maxStep: 1 });
      expect([...first, ...second].map(({ batch, task, row }) => [batch, task, row])).toEqual([
        ['1', 0, 10],
        ['1', 1, 11],
        ['1', 2, 12],
      ]);
      expect(await two.leaseTasks(b, { count: 9, maxStep: 1 })).toEqual([]);
      const { leases } = await one.view();
      expect(leases.map(({ task, explorer }) => [task, explorer])).toEqual([
        [0, 'a'],
        [1, 'a'],
        [2, 'b'],
      ]);
      await two.releaseTask(b, first[0]!);
      expect(await two.leaseTasks(b, { count: 9, maxStep: 1 })).toEqual([]);
      await one.releaseTask(a, first[0]!);
      expect(await two.leaseTasks(b, { count: 9, maxStep: 1 })).toMatchObject([
        { batch: '1', task: 0 },
      ]);
    });

    it('leases the tasks that weights may sample, past those that they may not', async () => {
      const test = await create();
      const store = await opened(test);
      const member = await joinExplorer(store);
      for (const [step, version] of [
        [1, 3],
        [2, 1],
        [3, undefined],
        [4, 2],
      ] as const) {
        const { batches, ...plan } = planOf(step, 1);
        await store.plan(member, {
          ...plan,
          batches: batches.map((each) => ({ ...each, version })),
        });
      }
      const leased = async (version: number, mayBeNewer: boolean) => {
        const request = { count: 3, maxStep: 9, weights: { version, mayBeNewer } };
        const tasks = await store.leaseTasks(member, request);
        for (const task of tasks) await store.releaseTask(member, task);
        return tasks.map(({ step }) => step);
      };
      expect(await leased(1, false)).toEqual([2, 3]);
      expect(await leased(2, true)).toEqual([2, 3, 4]);
      expect(await leased(0, true)).toEqual([3]);
    });

    it('gives the tasks of a silent member to others, and counts its results as late', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const [a, b] = [await joinExplorer(one, 'a'), await joinExplorer(two, 'b')];
      await one.plan(a, planOf(1, 2));
      const held = await one.leaseTasks(a, { count: 2, maxStep: 1 });
      await test.pass(test.leaseMs * 0.7);
      await two.heartbeat(b, idle);
      expect(await two.leaseTasks(b, { count: 2, maxStep: 1 })).toEqual([]);
      await test.pass(test.leaseMs * 0.7);
      await two.heartbeat(b, idle);
      const [taken] = await two.leaseTasks(b, { count: 1, maxStep: 1 });
      expect(taken).toEqual(held[0]);
      const answers = [];
      for (const task of [...held, held[0]!])
        answers.push(await one.storeResult(a, task, resultOf(task)));
      // The second result is stored, because no other worker has leased its task meanwhile.
      expect(answers).toEqual(['late', 'stored', 'late']);
      expect(await two.storeResult(b, taken!, resultOf(taken!))).toBe('stored');
      expect(await two.view()).toMatchObject({ lateResults: 1, tasks: { done: 2 } });
    });

    it('opens the tasks of a member that leaves, and of one that joins again', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const [a, b] = [await joinExplorer(one, 'a'), await joinExplorer(two, 'b')];
      await one.plan(a, planOf(1, 1));
      const held = await one.leaseTasks(a, { count: 1, maxStep: 1 });
      await one.leave(a);
      await expect(one.leaseTasks(a, { count: 1, maxStep: 1 })).rejects.toMatchObject({
        code: 'MEMBER_FENCED',
      });
      expect(await two.leaseTasks(b, { count: 1, maxStep: 1 })).toEqual(held);
      await test.pass(test.leaseMs + 1);
      const again = await joinExplorer(one, 'b');
      await expect(two.storeResult(b, held[0]!, resultOf(held[0]!))).rejects.toMatchObject({
        code: 'MEMBER_FENCED',
      });
      await exploreAll(one, again);
      expect((await one.view()).tasks.done).toBe(1);
    });

    it('leaves a member that comes back what nobody has taken meanwhile', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const [a, b] = [await joinExplorer(one, 'a'), await joinExplorer(two, 'b')];
      await one.plan(a, planOf(1, 4));
      const held = await one.leaseTasks(a, { count: 3, maxStep: 1 });
      await test.pass(test.leaseMs + 1);
      await two.heartbeat(b, idle);
      expect(await one.leaseTasks(a, { count: 1, maxStep: 1 })).toMatchObject([{ task: 3 }]);
      expect(await two.leaseTasks(b, { count: 1, maxStep: 1 })).toEqual([held[0]]);
      await one.heartbeat(a, idle);
      expect(await two.leaseTasks(b, { count: 9, maxStep: 1 })).toEqual([]);
    });

    it('leases nothing for a late copy of a call that has leased tasks', async () => {
      const test = await create();
      const { store, newest } = await openedWithCopies(test);
      const member = await joinExplorer(store);
      await store.plan(member, planOf(1, 1));
      const [task] = await store.leaseTasks(member, { count: 1, maxStep: 9 });
      const copy = newest();
      await store.storeResult(member, task!, resultOf(task!));
      await store.plan(member, planOf(2, 1));
      await copy();
      expect((await store.view()).tasks).toEqual({ open: 1, leased: 0, done: 1 });
      expect(await store.leaseTasks(member, { count: 1, maxStep: 9 })).toMatchObject([{ step: 2 }]);
    });

    it('hands what a late copy of an empty call has leased to the next one', async () => {
      const test = await create();
      const { store, newest } = await openedWithCopies(test);
      const member = await joinExplorer(store);
      expect(await store.leaseTasks(member, { count: 1, maxStep: 9 })).toEqual([]);
      const copy = newest();
      await store.plan(member, planOf(1, 2));
      await copy();
      expect(await store.leaseTasks(member, { count: 1, maxStep: 9 })).toMatchObject([{ task: 0 }]);
      expect(await store.leaseTasks(member, { count: 1, maxStep: 9 })).toMatchObject([{ task: 1 }]);
    });

    it('keeps the runs of one database apart', async () => {
      const test = await create();
      const store = await opened(test);
      const other = await test.openOther();
      const [a, b] = [await joinExplorer(store), await joinExplorer(other)];
      await store.plan(a, planOf(1, 2));
      await other.plan(b, planOf(1, 1));
      await exploreAll(store, a);
      await exploreAll(other, b);
      expect((await store.readBatch('1')).results).toHaveLength(2);
      expect((await other.view()).experiences.total).toBe(2);
      await other.close();
    });
  });
}
