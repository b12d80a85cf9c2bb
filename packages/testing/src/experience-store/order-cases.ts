/** Contract cases: order, fields and statistics of leased experiences. */
import { createExperience, BufferError, InvariantError } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import {
  numbered,
  numbersOf,
  openStore,
  range,
  takeNow,
  type CreateExperienceStore,
} from './fixture.js';

export function orderCases(create: CreateExperienceStore): void {
  it('hands experiences out first in, first out, across puts', async () => {
    const store = await openStore(create);
    await store.put(range(0, 3));
    await store.put(range(3, 8));
    expect(numbersOf(await takeNow(store, 2))).toEqual([0, 1]);
    expect(numbersOf(await takeNow(store, 4))).toEqual([2, 3, 4, 5]);
    expect(numbersOf(await takeNow(store, 2))).toEqual([6, 7]);
  });

  it('returns every field of an experience as it was', async () => {
    const store = await openStore(create);
    const full = {
      ...createExperience({
        eid: { batch: '12/eval', task: 'a/b', run: 3, step: 2, suffix: 'ü' },
        tokens: [5, 151_935, 7, 0],
        promptLength: 2,
        actionMask: [1, 0],
        logprobs: [-1e-7, 0],
        tokenRewards: [0.1, -3],
        reward: 0.1,
        policyVersion: 7,
        temperature: 0.7,
        truncateStatus: 'response_truncated',
        promptText: 'a\u0000b\n',
        responseText: '日本\ud83d\ude80',
        metrics: { 'a/b': 1e-300, c: -0.5 },
        info: { nested: { list: [1, 'two', null, true] } },
      }),
      advantages: Float32Array.of(0.5, 0),
      returns: Float32Array.of(1, 2),
      teacherLogprobs: Float32Array.of(-2, -3),
    };
    await store.put([full]);
    expect((await takeNow(store, 1)).experiences).toEqual([full]);
  });

  it('rejects a uid that is stored, leased or trained, and stores nothing of that batch', async () => {
    const store = await openStore(create);
    await store.put(range(0, 3), { step: 1 });
    await (await takeNow(store, 1)).acknowledge(1);
    await takeNow(store, 1);
    for (const n of [0, 1, 2]) {
      await expect(store.put([numbered(10 + n), numbered(n)], { step: 2 })).rejects.toThrow(
        BufferError,
      );
    }
    await expect(store.put([numbered(20), numbered(20)])).rejects.toThrow(/1\/20\/0\/0\/a/);
    expect(await store.counts()).toEqual({ total: 3, waiting: 1, leased: 1, trained: 1 });
    expect(await store.explorerState()).toEqual({ step: 1 });
    await store.put([numbered(10)]);
    expect((await store.counts()).total).toBe(4);
  });

  it('rejects a misaligned experience, and stores nothing of that batch', async () => {
    const store = await openStore(create);
    const broken = { ...numbered(1), logprobs: Float32Array.of(Number.NaN, 0) };
    await expect(store.put([numbered(0), broken])).rejects.toThrow(InvariantError);
    expect((await store.counts()).total).toBe(0);
  });

  it('keeps the explorer state of the last put that gave one', async () => {
    const store = await openStore(create);
    expect(await store.explorerState()).toBeUndefined();
    await store.put(range(0, 1), { step: 1, order: [3, 1] });
    await store.put([], { step: 2, note: 'every run of this step failed' });
    await store.put(range(1, 2));
    expect(await store.explorerState()).toEqual({ step: 2, note: 'every run of this step failed' });
  });

  it('keeps the number of the last commit, whatever an explorer stores', async () => {
    const store = await openStore(create);
    expect(await store.lastCommit()).toBe(0);
    await store.put(range(0, 1), { step: 1, feed: { cursor: 4 } }, 1);
    await store.put(range(1, 2), { step: 5, feed: { cursor: 20 } });
    expect(await store.lastCommit()).toBe(1);
    expect(await store.explorerState()).toMatchObject({ step: 5, feed: { cursor: 20 } });
  });

  it('takes the experiences of commits for none of an explore step', async () => {
    const store = await openStore(create);
    const committed = [0, 1].map((task) =>
      createExperience({ eid: { batch: 'c8', task }, tokens: [1, 2], promptLength: 1 }),
    );
    await store.put(committed);
    store.releaseUpTo(0);
    expect(store.oldestUnusedStep()).toBe(0);
    await (await takeNow(store, 2)).acknowledge(1);
    expect(await store.firstTrainStepAfter(2)).toBeUndefined();
  });

  it('discards experiences older than the filter, counts them, and leaves those behind the batch alone', async () => {
    const store = await openStore(create);
    await store.put([
      ...range(0, 2, 0),
      numbered(2, 5),
      numbered(3, 1),
      numbered(4, 5),
      numbered(5, 1),
    ]);
    const lease = await takeNow(store, 2, 4);
    expect(numbersOf(lease)).toEqual([2, 4]);
    expect(lease.metrics['sample/stale_dropped']).toBe(3);
    await lease.acknowledge(1);
    expect(await store.counts()).toEqual({ total: 6, waiting: 1, leased: 0, trained: 2 });
    expect(numbersOf(await takeNow(store, 1))).toEqual([5]);
  });

  it('reports the versions that sampled the batch and the tasks in it', async () => {
    const store = await openStore(create);
    const sameTask = { ...numbered(3, 8), eid: { ...numbered(3).eid, task: 2, run: 1 } };
    await store.put([numbered(1, 2), numbered(2, 5), sameTask]);
    expect((await takeNow(store, 3)).metrics).toEqual({
      'sample/model_version/mean': 5,
      'sample/model_version/max': 8,
      'sample/model_version/min': 2,
      'sample/task_count': 2,
      'sample/run_count': 3,
      'sample/experience_count': 3,
      'sample/stale_dropped': 0,
    });
  });

  it.each([0, -1, 1.5, Number.NaN])('rejects to take %s experiences', async (count) => {
    const store = await openStore(create);
    await expect(store.take(count)).rejects.toThrow(BufferError);
  });
}
