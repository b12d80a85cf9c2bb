import { describe, expect, it } from 'vitest';
import { joinExplorer, joinTrainer, opened, weightsOf, type CreateRunStore } from './fixture.js';

export function weightCases(create: CreateRunStore): void {
  describe('weights', () => {
    it('publishes a version once, for the final evaluation or not', async () => {
      const test = await create();
      const store = await opened(test);
      const trainer = await joinTrainer(store);
      expect(await store.publishedWeights()).toBeUndefined();
      const folder = { kind: 'folder', path: '/run/sync/version_2' } as const;
      const versions = [
        weightsOf(0),
        { ...weightsOf(2), final: true, location: folder },
        weightsOf(0),
      ];
      for (const weights of versions) await store.publishWeights(trainer, weights);
      const other = await opened(test);
      expect(await other.publishedWeights()).toEqual(versions[1]);
      await store.publishWeights(trainer, weightsOf(2));
      expect(await other.publishedWeights()).toEqual(weightsOf(2));
      await expect(store.publishWeights(trainer, weightsOf(2, 'other'))).rejects.toMatchObject({
        code: 'STORE_OTHER_WEIGHTS',
      });
    });

    it('are where their version was published last, as are later versions', async () => {
      const store = await opened(await create());
      const trainer = await joinTrainer(store);
      const of = (version: number, sync: string) => ({
        ...weightsOf(version),
        location: { kind: 'folder', path: `${sync}/version_${version}` } as const,
      });
      for (const version of [2, 4]) await store.publishWeights(trainer, of(version, '/old'));
      await store.publishWeights(trainer, { ...of(4, '/new'), exploredUpTo: 3 });
      expect(await store.publishedWeights()).toEqual({ ...of(4, '/new'), exploredUpTo: 3 });
      await store.publishWeights(trainer, of(2, '/newer'));
      expect((await store.publishedWeights())?.location).toEqual(of(4, '/newer').location);
    });

    it('forgets later versions of a run that has ended or is in its final evaluation', async () => {
      const store = await opened(await create());
      const trainer = await joinTrainer(store);
      for (const version of [2, 4]) await store.publishWeights(trainer, weightsOf(version));
      const resumes = true;
      await store.publishWeights(trainer, weightsOf(2), { resumes });
      expect(await store.publishedWeights()).toEqual(weightsOf(4));
      const other = store.publishWeights(trainer, weightsOf(4, 'other'), { resumes });
      await expect(other).rejects.toMatchObject({ code: 'STORE_OTHER_WEIGHTS' });
      await store.finishRun(trainer, { trainStep: 4 });
      await store.publishWeights(trainer, weightsOf(2), { resumes });
      expect(await store.publishedWeights()).toEqual(weightsOf(2));
      expect((await store.view()).end).toBeUndefined();
      await store.publishWeights(trainer, weightsOf(4));
      await store.publishWeights(trainer, { ...weightsOf(6), final: true });
      await store.publishWeights(trainer, weightsOf(2), { resumes });
      expect(await store.publishedWeights()).toEqual(weightsOf(2));
    });

    it('keeps files of any size until they are deleted', async () => {
      const test = await create();
      const [one, two] = [await opened(test), await opened(test)];
      const trainer = await joinTrainer(one);
      const bytes = new Uint8Array(9 << 20).map((_, i) => i % 251);
      for (const version of [1, 2])
        await one.putWeightFile(trainer, { version, path: 'model/a.safetensors', bytes });
      await one.putWeightFile(trainer, { version: 2, path: 'empty', bytes: new Uint8Array() });
      await one.deleteWeightFilesBefore(trainer, 2);
      expect(await two.getWeightFile(1, 'model/a.safetensors')).toBeUndefined();
      const found = await two.getWeightFile(2, 'model/a.safetensors');
      expect(found && Buffer.compare(found, bytes)).toBe(0);
      expect(await two.getWeightFile(2, 'empty')).toHaveLength(0);
    });

    it('shows what came of a delivery, and the end', async () => {
      const store = await opened(await create());
      const [member, trainer] = [await joinExplorer(store), await joinTrainer(store)];
      const delivery = { version: 2, difference: 0.5, problem: 'swapped layers' };
      await store.reportDelivery(member, delivery);
      expect((await store.view()).members[0]?.delivery).toEqual(delivery);
      expect((await store.view()).end).toBeUndefined();
      await store.publishWeights(trainer, weightsOf(7));
      await store.finishRun(trainer, { trainStep: 7 });
      expect((await store.view()).end).toEqual({ trainStep: 7 });
      await store.leave(trainer);
      await joinExplorer(store, 'another');
      expect((await store.view()).end).toEqual({ trainStep: 7 });
      const next = await joinTrainer(store);
      expect((await store.view()).end).toEqual({ trainStep: 7 });
      await store.publishWeights(next, weightsOf(4));
      expect((await store.view()).end).toEqual({ trainStep: 7 });
      await store.publishWeights(next, weightsOf(7));
      expect((await store.view()).end).toBeUndefined();
    });
  });
}
