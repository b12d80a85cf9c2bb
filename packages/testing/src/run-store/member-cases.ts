import type { Agreement } from '@trinity-rft/core/store';
import { describe, expect, it } from 'vitest';
import {
  idle,
  joinExplorer,
  joinTrainer,
  opened,
  openedWithCopies,
  planOf,
  type CreateRunStore,
} from './fixture.js';

export function memberCases(create: CreateRunStore): void {
  describe('members', () => {
    it('refuses a second member of a name, and a second trainer, while the first is alive', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      await joinExplorer(one, 'a');
      await joinExplorer(two, 'b');
      await expect(joinExplorer(two, 'a')).rejects.toMatchObject({ code: 'MEMBER_ALIVE' });
      await joinTrainer(one, 'trainer');
      await expect(joinTrainer(two, 'another')).rejects.toThrow(
        /trainer trainer \(process 2 on here\)/,
      );
    });

    it('refuses a member whose settings differ from those of the first live one', async () => {
      const test = await create();
      const store = await opened(test);
      const join = (name: string, agreement: Agreement) =>
        store.join({ role: 'explorer', name, host: 'here', pid: 1, agreement });
      const first = await join('a', { seed: '1', model: '"m"' });
      await join('b', { model: '"m"', seed: '1' });
      await expect(join('c', { seed: '2', model: '"m"' })).rejects.toMatchObject({
        code: 'MEMBER_DIFFERS',
        details: { key: 'seed', own: '2', other: '1', name: 'a' },
      });
      await expect(join('c', { model: '"m"' })).rejects.toThrow(/its seed is not set/);
      await joinExplorer(store, 'without');
      await store.leave(first);
      await test.pass(test.leaseMs + 1);
      await join('c', { seed: '2', model: '"m"' });
    });

    it('fences off a silent trainer once another one has its place', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const stale = await joinTrainer(one, 'first');
      await test.pass(test.leaseMs + 1);
      const fresh = await joinTrainer(two, 'second');
      expect(fresh.epoch).toBeGreaterThan(stale.epoch);
      const fenced = { code: 'MEMBER_FENCED' };
      const record = { trainStep: 1, trained: [], discarded: [] };
      await expect(one.heartbeat(stale, idle)).rejects.toMatchObject(fenced);
      await expect(one.plan(stale, planOf(1, 1))).rejects.toMatchObject(fenced);
      await expect(one.recordTrainStep(stale, record)).rejects.toMatchObject(fenced);
      await expect(one.prune(stale, 0)).rejects.toMatchObject(fenced);
      await expect(one.finishRun(stale, { trainStep: 1 })).rejects.toMatchObject(fenced);
      await expect(one.cutOffBatch(stale, '1')).rejects.toMatchObject(fenced);
      const file = { version: 1, path: 'a', bytes: new Uint8Array() };
      await expect(one.putWeightFile(stale, file)).rejects.toMatchObject(fenced);
      await expect(one.deleteWeightFilesBefore(stale, 9)).rejects.toMatchObject(fenced);
      await one.leave(stale);
      await two.recordTrainStep(fresh, record);
      expect((await two.view()).trainStep).toBe(1);
    });

    it('keeps a member that beats, and shows one that is silent or has left', async () => {
      const test = await create();
      const store = await opened(test);
      const [a, b] = [await joinExplorer(store, 'a'), await joinExplorer(store, 'b')];
      await joinExplorer(store, 'c');
      await test.pass(test.leaseMs * 0.7);
      await store.heartbeat(a, {
        ...idle,
        version: 3,
        waits: [{ what: 'tasks', on: 'c', forMs: 5 }],
      });
      await store.leave(b);
      await test.pass(test.leaseMs * 0.7);
      const { members } = await store.view();
      expect(members.map(({ name, isAlive, hasLeft }) => ({ name, isAlive, hasLeft }))).toEqual([
        { name: 'a', isAlive: true, hasLeft: false },
        { name: 'b', isAlive: false, hasLeft: true },
        { name: 'c', isAlive: false, hasLeft: false },
      ]);
      expect(members[0]).toMatchObject({
        version: 3,
        waits: [{ what: 'tasks', on: 'c', forMs: 5 }],
      });
      expect(members[2]?.silentForMs).toBeGreaterThanOrEqual(test.leaseMs);
    });

    it('refuses a join that is answered when its membership has ended', async () => {
      const test = await create();
      const { store, newest } = await openedWithCopies(test);
      const other = await opened(test);
      await joinTrainer(store, 'first');
      const copy = newest();
      await test.pass(test.leaseMs + 1);
      const second = await joinTrainer(other, 'second');
      await other.leave(second);
      await expect(copy()).rejects.toMatchObject({ code: 'MEMBER_FENCED' });
      expect((await other.view()).members.some(({ isAlive }) => isAlive)).toBe(false);
    });

    it('lets a silent explorer go on that nobody has replaced', async () => {
      const test = await create();
      const store = await opened(test);
      const member = await joinExplorer(store);
      await test.pass(test.leaseMs * 20);
      await store.heartbeat(member, idle);
      expect(await store.plan(member, planOf(1, 1))).toBe(true);
    });
  });
}
