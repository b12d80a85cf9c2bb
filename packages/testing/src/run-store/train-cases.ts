import type { RunStore } from '@trinity-rft/core/store';
import { describe, expect, it } from 'vitest';
import {
  exploreAll,
  joinExplorer,
  joinTrainer,
  opened,
  planOf,
  uidsOf,
  type CreateRunStore,
} from './fixture.js';

export function trainCases(create: CreateRunStore): void {
  /** Opens a store in which two explore steps, of two tasks each, are complete. */
  const explored = async (): Promise<RunStore> => {
    const store = await opened(await create());
    const member = await joinExplorer(store);
    for (const step of [1, 2]) await store.plan(member, planOf(step, 2));
    await exploreAll(store, member);
    return store;
  };
  const [first, second] = [uidsOf('1', 2), uidsOf('2', 2)];

  describe('train steps', () => {
    it('records a step once, and gives the records back to a trainer that resumes', async () => {
      const store = await explored();
      const trainer = await joinTrainer(store);
      const [a = '', b = '', c = '', d = ''] = first;
      const records = [
        { trainStep: 1, trained: [b, a], kept: [], discarded: [{ uid: c, reason: 'stale' }] },
        { trainStep: 2, trained: [...second], kept: [], discarded: [] },
      ];
      for (const record of [records[0]!, records[0]!, records[1]!])
        await store.recordTrainStep(trainer, record);
      expect(await store.trainRecordsAfter(0)).toEqual(records);
      expect(await store.trainRecordsAfter(1)).toEqual(records.slice(1));
      expect((await store.readBatch('1')).used).toEqual(new Set([a, b, c]));
      expect(await store.filterUnused([a, c, d, '9/9/9/0/a'])).toEqual(new Set([d]));
      expect(await store.view()).toMatchObject({
        trainStep: 2,
        experiences: { total: 8, waiting: 1, trained: 6, discarded: { stale: 1 } },
      });
      await expect(
        store.recordTrainStep(trainer, { trainStep: 1, trained: [a], discarded: [] }),
      ).rejects.toMatchObject({ code: 'STORE_OTHER_RECORD' });
      await expect(
        store.recordTrainStep(trainer, { trainStep: 4, trained: [d], discarded: [] }),
      ).rejects.toMatchObject({ code: 'STORE_TRAIN_STEP' });
    });

    it('lets nothing be used up twice, nor what is not stored', async () => {
      const store = await explored();
      const trainer = await joinTrainer(store);
      await store.recordTrainStep(trainer, { trainStep: 1, trained: first, discarded: [] });
      const twice = { trainStep: 2, trained: [second[0]!, first[0]!], discarded: [] };
      await expect(store.recordTrainStep(trainer, twice)).rejects.toMatchObject({
        code: 'STORE_USED_TWICE',
      });
      const unknown = { trainStep: 2, trained: ['9/9/9/0/a'], discarded: [] };
      await expect(store.recordTrainStep(trainer, unknown)).rejects.toMatchObject({
        code: 'STORE_UNKNOWN_EXPERIENCE',
      });
      expect(await store.view()).toMatchObject({ trainStep: 1, experiences: { waiting: 4 } });
    });

    it('counts how often an experience was used that may be used again', async () => {
      const store = await explored();
      const trainer = await joinTrainer(store);
      const [a = '', b = ''] = first;
      await store.recordTrainStep(trainer, {
        trainStep: 1,
        trained: [a, b],
        kept: [a],
        discarded: [],
      });
      await store.recordTrainStep(trainer, {
        trainStep: 2,
        trained: [a],
        kept: [a],
        discarded: [],
      });
      const before = await store.readBatch('1');
      expect(before.used).toEqual(new Set([b]));
      expect(before.useCounts).toEqual(
        new Map([
          [a, 2],
          [b, 1],
        ]),
      );
      await store.recordTrainStep(trainer, { trainStep: 3, trained: [a], discarded: [] });
      expect((await store.readBatch('1')).used).toEqual(new Set([a, b]));
      expect(await store.trainRecordsAfter(1)).toMatchObject([{ kept: [a] }, { kept: [] }]);
    });

    it('deletes complete batches that are used up, and goes on counting them', async () => {
      const store = await explored();
      const trainer = await joinTrainer(store);
      const [a = '', ...rest] = first;
      await store.recordTrainStep(trainer, {
        trainStep: 1,
        trained: rest,
        discarded: [{ uid: a, reason: 'filtered' }],
      });
      await store.recordTrainStep(trainer, {
        trainStep: 2,
        trained: second.slice(1),
        discarded: [],
      });
      await store.prune(trainer, 1);
      await store.prune(trainer, 1);
      expect(await store.batchesCompletedAfter(0)).toHaveLength(2);
      expect(
        (await store.readBatch('1')).results.flatMap(({ experiences }) => experiences),
      ).toEqual([]);
      expect(await store.view()).toMatchObject({
        trainStep: 2,
        experiences: { total: 8, waiting: 1, trained: 6, discarded: { filtered: 1 } },
      });
      expect(await store.trainRecordsAfter(1)).toHaveLength(1);
      await expect(store.trainRecordsAfter(0)).rejects.toMatchObject({ code: 'BUFFER_PRUNED' });
      const again = { trainStep: 3, trained: [a], discarded: [] };
      await expect(store.recordTrainStep(trainer, again)).rejects.toMatchObject({
        code: 'STORE_UNKNOWN_EXPERIENCE',
      });
    });
  });
}
