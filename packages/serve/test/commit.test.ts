import { createExperience, type Experience, uid } from '@trinity-rft/core';
import { describe, expect, it, vi } from 'vitest';
import { placesOf } from '../src/attempts.js';
import { createCommit, openTurnStore, type TurnStore } from '../src/index.js';
import { asTheyAre, databasePath, listStore, recorded } from './helpers.js';

const sink = { write: () => undefined };

async function rewarded(turns: TurnStore, count: number, from = 0): Promise<void> {
  for (let i = from; i < from + count; i++) {
    await turns.record({ msgId: `m${i}`, session: 's', experiences: [recorded(i + 2)] });
    await turns.reward({ reward: i, msgIds: [`m${i}`], taskId: 't', runId: i % 2 });
  }
}

const ids = (rows: readonly Experience[]): readonly string[] => rows.map(({ eid }) => uid(eid));

describe('a commit', () => {
  it('makes experiences of all rewarded calls: tasks, runs and steps as they were named and served', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    const commit = createCommit({ turns, store, pipeline: asTheyAre, sink });
    await rewarded(turns, 4);
    await turns.record({ msgId: 'open', session: 's', experiences: [recorded(7)] });
    expect(await commit()).toEqual({ step: 1, calls: 4, experiences: 4 });
    expect(ids(store.rows)).toEqual(['c1/t/0/0/0', 'c1/t/1/0/0', 'c1/t/0/1/0', 'c1/t/1/1/0']);
    expect(store.rows.map(({ reward }) => reward)).toEqual([0, 1, 2, 3]);
    expect(await turns.counts()).toEqual({ total: 5, open: 1, ready: 0, committed: 4 });
    await turns.close();
  });

  it('makes a task of each call without one', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    for (const msgId of ['a', 'b'])
      await turns.record({ msgId, session: 's', experiences: [recorded(2)] });
    await turns.reward({ reward: 1, msgIds: ['a', 'b'], runId: 0 });
    await createCommit({ turns, store, pipeline: asTheyAre, sink })();
    expect(ids(store.rows)).toEqual(['c1/a/0/0/0', 'c1/b/0/0/0']);
    await turns.close();
  });

  it('counts as an explore step, and keeps the position of the explorer in its tasks', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    await store.put([], { step: 4, policyVersion: 3, feed: { cursor: 64 }, carried: 2 });
    await rewarded(turns, 2);
    const commit = createCommit({ turns, store, pipeline: asTheyAre, sink });
    expect(await commit()).toEqual({ step: 1, calls: 2, experiences: 2 });
    expect(await store.explorerState()).toEqual({
      ...{ step: 5, policyVersion: 3, carried: 2, served: true, commit: 1 },
      feed: { cursor: 64 },
    });
    await turns.close();
  });

  it.each([true, false])(
    'that is finished after the explorer went on never sets it back, begun beside: %j',
    async (isBeside) => {
      const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
      const put = vi.spyOn(store, 'put').mockRejectedValueOnce(new Error('full'));
      await rewarded(turns, 2);
      const options = { turns, store, pipeline: asTheyAre, sink };
      await expect(createCommit({ ...options, isBeside })()).rejects.toThrow('full');
      await store.put([], { step: 5, policyVersion: 4, feed: { cursor: 20 } });
      expect(await createCommit(options)()).toMatchObject({ step: 1, calls: 2 });
      expect(await store.explorerState()).toMatchObject({ step: 6, feed: { cursor: 20 } });
      expect(put).toHaveBeenCalledTimes(3);
      await turns.close();
    },
  );

  it('is stored once in a store that has only the state of the explorer', async () => {
    const [turns, { lastCommit: _none, ...store }] = [
      await openTurnStore({ path: databasePath() }),
      listStore(),
    ];
    await store.put([], { step: 4, policyVersion: 4, feed: { cursor: 16 } });
    await rewarded(turns, 2);
    vi.spyOn(turns, 'finishBatch').mockRejectedValueOnce(new Error('full'));
    const commit = createCommit({ turns, store, pipeline: asTheyAre, sink });
    await expect(commit()).rejects.toThrow('full');
    expect(await commit()).toEqual({ step: 1, calls: 2, experiences: 2 });
    expect(store.rows).toHaveLength(2);
    await turns.close();
  });

  it('beside another process leaves the state of its explorer alone, and is stored once whatever that writes', async () => {
    const path = databasePath();
    const [turns, store] = [await openTurnStore({ path }), listStore()];
    const explored = (step: number) => ({ step, policyVersion: step, feed: { cursor: step } });
    await store.put([], explored(4));
    await rewarded(turns, 2);
    vi.spyOn(turns, 'finishBatch').mockRejectedValueOnce(new Error('full'));
    const options = { turns, store, pipeline: asTheyAre, sink, isBeside: true };
    await expect(createCommit(options)()).rejects.toThrow('full');
    expect(await store.explorerState()).toEqual(explored(4));
    await store.put([], explored(5));
    await turns.record({ msgId: 'number', session: 's', experiences: [recorded(2)] });
    await turns.reward({ reward: 1, msgIds: ['number'], taskId: '0' });
    expect(await createCommit(options)()).toMatchObject({ step: 2, calls: 3 });
    expect(ids(store.rows)).toEqual(['c1/t/0/0/0', 'c1/t/1/0/0', 'c2/0/0/0/0']);
    expect(await store.explorerState()).toEqual(explored(5));
    await turns.close();
  });

  it('makes an attempt of each answer without a run, and one of answers that continue each other', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    const answer = (prompt: readonly number[], reply: number): Experience =>
      createExperience({ tokens: [...prompt, reply], promptLength: prompt.length });
    const record = async (msgId: string, session: string, ...experiences: Experience[]) =>
      turns.record({ msgId, session, experiences });
    await record('a', 's', answer([1, 2], 3));
    await record('b', 's', answer([1, 2], 4));
    await record('c', 's', answer([1, 2, 3, 5], 6));
    await record('d', 's', answer([1, 2, 3, 7], 8));
    await record('e', 'other', answer([1, 2, 4, 5], 6));
    await record('f', 's', answer([1, 2], 5), answer([1, 2], 6));
    await record('g', 's', answer([1, 2], 9));
    const msgIds = ['g', 'f', 'e', 'd', 'c', 'b', 'a'];
    await turns.reward({ reward: 1, msgIds: ['g'], taskId: 't', runId: 1 });
    await turns.reward({ reward: 1, msgIds: msgIds.slice(1), taskId: 't' });
    await createCommit({ turns, store, pipeline: asTheyAre, sink })();
    expect(store.rows.map(({ eid, info }) => [info?.['msgId'], eid.run, eid.step])).toEqual([
      ...[
        ['a', 0, 0],
        ['b', 2, 0],
        ['c', 0, 1],
        ['d', 3, 0],
        ['e', 4, 0],
      ],
      ...[
        ['f', 5, 0],
        ['f', 6, 0],
        ['g', 1, 0],
      ],
    ]);
    await turns.close();
  });

  it('reads no token more often when the same question is answered more often', () => {
    let reads = 0;
    const call = (i: number, prompt: readonly number[], ...reply: number[]) => {
      const experience = createExperience({
        tokens: [...prompt, ...reply],
        promptLength: prompt.length,
      });
      const tokens = new Proxy(experience.tokens, {
        get: (target, key) => {
          reads++;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
      return {
        ...{ msgId: `${i}`, choice: 0, session: 's', reward: 1, task: 't', run: undefined },
        experience: { ...experience, tokens },
      };
    };
    const prompt = Array.from({ length: 20 }, (_, i) => i);
    const calls = Array.from({ length: 500 }, (_, i) => call(i, prompt, i, 7));
    const next = call(500, [...prompt, 3, 7, 5], 6);
    const places = placesOf([...calls, next]);
    expect(places.get(next)).toEqual({ run: 3, step: 1 });
    expect(new Set([...places.values()].map(({ run }) => run)).size).toBe(500);
    expect(reads).toBeLessThan(100 * 501);
  });

  it('makes attempts of the choices of one answer, the first of which has the run of the feedback', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    for (const msgId of ['a', 'b'])
      await turns.record({ msgId, session: 's', experiences: [recorded(2), recorded(3)] });
    await turns.reward({ reward: 1, msgIds: ['a', 'b:0'], taskId: 't', runId: 0 });
    await turns.reward({ reward: 0, msgIds: ['b:1'], taskId: 't', runId: 1 });
    await createCommit({ turns, store, pipeline: asTheyAre, sink })();
    expect(ids(store.rows)).toEqual(['c1/t/0/0/0', 'c1/t/2/0/1', 'c1/t/0/1/0', 'c1/t/1/0/1']);
    await turns.close();
  });

  it.each(['before the experiences are stored', 'after they are stored'])(
    'that ends %s is finished by the next process, with each call once',
    async (when) => {
      const path = databasePath();
      const [first, store] = [await openTurnStore({ path }), listStore()];
      await rewarded(first, 3);
      const steps: number[] = [];
      const sink = { write: ({ step }: { readonly step: number }) => void steps.push(step) };
      const dying = {
        ...store,
        put: async (...args: Parameters<typeof store.put>) => {
          if (when.startsWith('after')) await store.put(...args);
          throw new Error('The process has ended.');
        },
      };
      await expect(
        createCommit({ turns: first, store: dying, pipeline: asTheyAre, sink })(),
      ).rejects.toThrow('has ended');
      await first.close();

      const second = await openTurnStore({ path });
      expect(await second.unfinishedBatch()).toMatchObject({ step: 1 });
      await rewarded(second, 1, 3);
      expect(
        await createCommit({ turns: second, store, pipeline: asTheyAre, sink })(),
      ).toMatchObject({ step: 2, calls: 4 });
      expect(ids(store.rows)).toEqual(['c1/t/0/0/0', 'c1/t/1/0/0', 'c1/t/0/1/0', 'c2/t/1/0/0']);
      expect(await second.counts()).toMatchObject({ ready: 0, committed: 4 });
      expect(steps).toEqual([1, 2]);
      await second.close();
    },
  );

  it('whose calls cannot be marked as committed is repeated without writing its metrics again', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    await rewarded(turns, 2);
    const finishBatch = vi.spyOn(turns, 'finishBatch').mockRejectedValueOnce(new Error('full'));
    const steps: number[] = [];
    const sink = { write: ({ step }: { readonly step: number }) => void steps.push(step) };
    const commit = createCommit({ turns, store, pipeline: asTheyAre, sink });
    await expect(commit()).rejects.toThrow('full');
    expect(await commit()).toMatchObject({ step: 1, calls: 2 });
    expect([steps, finishBatch.mock.calls]).toEqual([[1], [[1], [1]]]);
    await turns.close();
  });

  it('that is asked for many times at once happens once', async () => {
    const [turns, store] = [await openTurnStore({ path: databasePath() }), listStore()];
    const commit = createCommit({ turns, store, pipeline: asTheyAre, sink });
    await rewarded(turns, 3);
    const results = await Promise.all([commit(), commit(), commit()]);
    expect(results.map(({ calls }) => calls)).toEqual([3, 0, 0]);
    expect(store.rows).toHaveLength(3);
    await turns.close();
  });
});
