/** Contract cases for durable stores, whose contents survive the end of the process. */
import { BufferError } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import {
  numbered,
  numbersOf,
  openStore,
  range,
  takeNow,
  testFolder,
  type CreateExperienceStore,
} from './fixture.js';
import { trainSteps } from './lease-cases.js';

export function durabilityCases(create: CreateExperienceStore): void {
  it('finds everything again after it was closed: order, train steps, explorer state', async () => {
    const folder = testFolder();
    const before = await openStore(create, {}, folder);
    await before.put(range(0, 6), { step: 1 });
    await before.put(range(6, 9), { step: 2, cursor: 17 });
    await trainSteps(before, [1, 2], 2);
    await before.close();

    const after = await openStore(create, {}, folder);
    expect(await after.counts()).toEqual({ total: 9, waiting: 5, leased: 0, trained: 4 });
    expect(await after.explorerState()).toEqual({ step: 2, cursor: 17 });
    await after.rollback(1);
    const lease = await takeNow(after, 7);
    expect(numbersOf(lease)).toEqual([2, 3, 4, 5, 6, 7, 8]);
    expect(lease.experiences[0]).toEqual(numbered(2));
    await expect(after.put(range(0, 1))).rejects.toThrow(BufferError);
  });

  it('returns open leases when it is opened again', async () => {
    const folder = testFolder();
    const before = await openStore(create, {}, folder);
    await before.put(range(0, 3));
    await takeNow(before, 2);
    await before.close();
    const after = await openStore(create, {}, folder);
    expect(numbersOf(await takeNow(after, 3))).toEqual([0, 1, 2]);
  });

  it('has not finished when it is opened again', async () => {
    const folder = testFolder();
    const before = await openStore(create, {}, folder);
    await before.put(range(0, 1));
    before.finish();
    await before.close();
    const after = await openStore(create, {}, folder);
    await after.put(range(1, 2));
    expect(numbersOf(await takeNow(after, 2))).toEqual([0, 1]);
  });

  it('has one owner at a time', async () => {
    const folder = testFolder();
    const owner = await openStore(create, {}, folder);
    await expect(openStore(create, {}, folder)).rejects.toMatchObject({ code: 'BUFFER_LOCKED' });
    await owner.close();
    await openStore(create, {}, folder);
  });
}
