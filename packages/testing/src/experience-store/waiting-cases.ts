/** Contract cases: waiting for experiences and for capacity. */
import { BufferError, CancelledError, EngineError } from '@trinity-rft/core';
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

export function waitingCases(create: CreateExperienceStore): void {
  it('waits until enough is there, and is woken by the put that completes the batch', async () => {
    const store = await openStore(create);
    const taking = store.take(3);
    await store.put(range(0, 2));
    expect(await isPending(taking)).toBe(true);
    await store.put(range(2, 4));
    expect(numbersOf(await taking)).toEqual([0, 1, 2]);
  });

  it('serves takers in the order they came, whatever they want', async () => {
    const store = await openStore(create);
    const large = store.take(4);
    const small = store.take(1);
    await store.put(range(0, 3));
    expect(await isPending(small)).toBe(true);
    await store.put(range(3, 5));
    expect(numbersOf(await large)).toEqual([0, 1, 2, 3]);
    expect(numbersOf(await small)).toEqual([4]);
  });

  it('rejects an aborted taker, leaves the data, and continues with the next taker', async () => {
    const store = await openStore(create);
    const controller = new AbortController();
    const first = store.take(5, {}, controller.signal);
    const second = store.take(2);
    await store.put(range(0, 3));
    controller.abort(new CancelledError('the run ends', { reason: 'shutdown' }));
    await expect(first).rejects.toMatchObject({ name: 'CancelledError', reason: 'shutdown' });
    expect(numbersOf(await second)).toEqual([0, 1]);
    await expect(store.take(1, {}, AbortSignal.abort())).rejects.toThrow(CancelledError);
    expect(await store.counts()).toEqual({ total: 3, waiting: 1, leased: 2, trained: 0 });
  });

  it('gives back what an aborted taker had discarded as too old', async () => {
    const store = await openStore(create);
    const controller = new AbortController();
    const taking = store.take(2, { minPolicyVersion: 3 }, controller.signal);
    await store.put([numbered(0, 1), numbered(1, 3)]);
    expect(await isPending(taking)).toBe(true);
    // Only the newer experience is considered waiting: the pending `take` has set the older one
    // aside.
    expect(await store.counts()).toEqual({ total: 2, waiting: 1, leased: 0, trained: 0 });
    controller.abort();
    await expect(taking).rejects.toThrow(CancelledError);
    expect(await store.counts()).toEqual({ total: 2, waiting: 2, leased: 0, trained: 0 });
    expect(numbersOf(await takeNow(store, 2))).toEqual([0, 1]);
  });

  it('hands out the remainder after finish, then undefined', async () => {
    const store = await openStore(create);
    await store.put(range(0, 5));
    await takeNow(store, 3);
    const remainder = store.take(3);
    const nothing = store.take(3);
    expect(await isPending(remainder)).toBe(true);
    store.finish();
    store.finish();
    expect(numbersOf(await remainder)).toEqual([3, 4]);
    expect(await nothing).toBeUndefined();
    expect(await store.take(1)).toBeUndefined();
    await expect(store.put(range(5, 6))).rejects.toThrow(BufferError);
  });

  it('ends with undefined when all that remains is too old', async () => {
    const store = await openStore(create);
    await store.put(range(0, 2, 1));
    const taking = store.take(2, { minPolicyVersion: 2 });
    store.finish();
    expect(await taking).toBeUndefined();
  });

  it('rejects takers at once with the error of a producer that died, now and later', async () => {
    const store = await openStore(create);
    const taking = store.take(1);
    const cause = new EngineError('the sampler died');
    store.fail(cause);
    store.fail(new EngineError('a second error that must not hide the first'));
    await expect(taking).rejects.toBe(cause);
    await expect(store.take(1)).rejects.toBe(cause);
    await expect(store.put(range(0, 1))).rejects.toBe(cause);
  });

  it('still records the step that was under way when the producer died', async () => {
    const store = await openStore(create);
    await store.put(range(0, 2));
    const lease = await takeNow(store, 2);
    store.fail(new EngineError('the sampler died'));
    await lease.acknowledge(1);
    expect((await store.counts()).trained).toBe(2);
  });

  it('rejects everything after close, waiting calls too', async () => {
    const store = await openStore(create);
    await store.put(range(0, 1));
    const lease = await takeNow(store, 1);
    const taking = store.take(1);
    await store.close();
    await store.close();
    await expect(taking).rejects.toMatchObject({ code: 'BUFFER_CLOSED' });
    await expect(store.take(1)).rejects.toMatchObject({ code: 'BUFFER_CLOSED' });
    await expect(store.put([])).rejects.toMatchObject({ code: 'BUFFER_CLOSED' });
    await expect(lease.acknowledge(1)).rejects.toMatchObject({ code: 'BUFFER_CLOSED' });
    await expect(store.rollback(0)).rejects.toMatchObject({ code: 'BUFFER_CLOSED' });
    await lease.release();
    store.finish();
    store.fail(new EngineError('too late to matter'));
  });

  it('holds a put back while the store is full, and lets puts in in their order as it empties', async () => {
    const store = await openStore(create, { capacity: 4 });
    await store.put(range(0, 4));
    const second = store.put(range(4, 6));
    const third = store.put(range(6, 7));
    expect(await isPending(second)).toBe(true);
    await takeNow(store, 1);
    expect(await isPending(second)).toBe(true);
    expect(await isPending(third)).toBe(true);
    await takeNow(store, 2);
    await Promise.all([second, third]);
    expect(numbersOf(await takeNow(store, 4))).toEqual([3, 4, 5, 6]);
  });

  it('never lets back-pressure starve a taker, and lets a batch larger than the capacity in', async () => {
    const store = await openStore(create, { capacity: 2 });
    await store.put(range(0, 5));
    await (await takeNow(store, 5)).acknowledge(1);
    const taking = store.take(6);
    await store.put(range(5, 7));
    await store.put(range(7, 9));
    await store.put(range(9, 11));
    expect(numbersOf(await taking)).toEqual([5, 6, 7, 8, 9, 10]);
  });

  it('lets waiting puts in at finish, and rejects them when the run failed', async () => {
    const finishing = await openStore(create, { capacity: 1 });
    await finishing.put(range(0, 1));
    const put = finishing.put(range(1, 2));
    finishing.finish();
    await put;
    expect(numbersOf(await takeNow(finishing, 2))).toEqual([0, 1]);

    const failing = await openStore(create, { capacity: 1 });
    await failing.put(range(0, 1));
    const stuck = failing.put(range(1, 2));
    const cause = new EngineError('the trainer died');
    failing.fail(cause);
    await expect(stuck).rejects.toBe(cause);
    expect((await failing.counts()).total).toBe(1);
  });
}
