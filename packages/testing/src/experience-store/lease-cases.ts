/** Contract cases: leases, acknowledgements, and rollbacks to an earlier train step. */
import { BufferError } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { expect, it } from 'vitest';
import {
  isPending,
  numbered,
  numbersOf,
  openStore,
  range,
  takeNow,
  type CreateExperienceStore,
} from './fixture.js';

export function leaseCases(create: CreateExperienceStore): void {
  it('counts what is stored, waiting, leased and trained', async () => {
    const store = await openStore(create);
    await store.put(range(0, 10));
    const first = await takeNow(store, 4);
    await takeNow(store, 2);
    expect(await store.counts()).toEqual({ total: 10, waiting: 4, leased: 6, trained: 0 });
    await first.acknowledge(1);
    expect(await store.counts()).toEqual({ total: 10, waiting: 4, leased: 2, trained: 4 });
  });

  it('gives a released lease back in its old place', async () => {
    const store = await openStore(create);
    await store.put(range(0, 6));
    const first = await takeNow(store, 2);
    const second = await takeNow(store, 2);
    await first.release();
    await first.release();
    expect(numbersOf(await takeNow(store, 3))).toEqual([0, 1, 4]);
    await second.release();
    expect(numbersOf(await takeNow(store, 3))).toEqual([2, 3, 5]);
  });

  it('wakes a taker by a release', async () => {
    const store = await openStore(create);
    await store.put(range(0, 3));
    const lease = await takeNow(store, 2);
    const taking = store.take(3);
    expect(await isPending(taking)).toBe(true);
    await lease.release();
    expect(numbersOf(await taking)).toEqual([0, 1, 2]);
  });

  it('reconsiders what a released lease had discarded as too old', async () => {
    const store = await openStore(create);
    await store.put([numbered(0, 1), numbered(1, 3)]);
    await (await takeNow(store, 1, 3)).release();
    expect(numbersOf(await takeNow(store, 2))).toEqual([0, 1]);
  });

  it('rejects to acknowledge a lease twice, or after its release', async () => {
    const store = await openStore(create);
    await store.put(range(0, 2));
    const trained = await takeNow(store, 1);
    await trained.acknowledge(1);
    await expect(trained.acknowledge(1)).rejects.toThrow(BufferError);
    await trained.release();
    expect((await store.counts()).trained).toBe(1);
    const released = await takeNow(store, 1);
    await released.release();
    await expect(released.acknowledge(2)).rejects.toThrow(BufferError);
  });

  it.each([-1, 0.5, Number.NaN])('rejects the train step %s', async (step) => {
    const store = await openStore(create);
    await store.put(range(0, 1));
    await expect((await takeNow(store, 1)).acknowledge(step)).rejects.toThrow(BufferError);
    await expect(store.rollback(step)).rejects.toThrow(BufferError);
  });

  it('undoes the acknowledgements of later steps, in the old order', async () => {
    const store = await openStore(create);
    await store.put(range(0, 8));
    await trainSteps(store, [1, 2, 3], 2);
    await store.rollback(1);
    expect(await store.counts()).toEqual({ total: 8, waiting: 6, leased: 0, trained: 2 });
    expect(numbersOf(await takeNow(store, 6))).toEqual([2, 3, 4, 5, 6, 7]);
    await store.rollback(0);
    expect((await store.counts()).waiting).toBe(8);
  });

  it('ends open leases at a rollback', async () => {
    const store = await openStore(create);
    await store.put(range(0, 4));
    const open = await takeNow(store, 2);
    await store.rollback(0);
    await expect(open.acknowledge(1)).rejects.toThrow(BufferError);
    await open.release();
    expect(numbersOf(await takeNow(store, 4))).toEqual([0, 1, 2, 3]);
  });

  it('brings back at a rollback what later steps had discarded as too old', async () => {
    const store = await openStore(create);
    await store.put([numbered(0, 0), numbered(1, 2), numbered(2, 0), numbered(3, 3)]);
    await (await takeNow(store, 1, 1)).acknowledge(1);
    await (await takeNow(store, 1, 1)).acknowledge(2);
    await store.rollback(1);
    const again = await takeNow(store, 1, 1);
    expect(numbersOf(again)).toEqual([3]);
    expect(again.metrics['sample/stale_dropped']).toBe(1);
  });

  it('wakes a waiting taker by a rollback, without handing anything out twice', async () => {
    const store = await openStore(create);
    await store.put([numbered(0, 5), numbered(1, 1), numbered(2, 5)]);
    await (await takeNow(store, 1)).acknowledge(1);
    const taking = store.take(2, { minPolicyVersion: 5 });
    expect(await isPending(taking)).toBe(true);
    await store.rollback(0);
    const lease = await taking;
    expect(numbersOf(lease)).toEqual([0, 2]);
    expect(lease?.metrics['sample/stale_dropped']).toBe(1);
    expect(await store.counts()).toEqual({ total: 3, waiting: 0, leased: 3, trained: 0 });
  });
}

/** For each step, takes a lease of `count` experiences and acknowledges it. */
export async function trainSteps(
  store: ExperienceStore,
  steps: readonly number[],
  count: number,
): Promise<void> {
  for (const step of steps) await (await takeNow(store, count)).acknowledge(step);
}
