import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExperience, type Experience, systemClock, uid } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sqliteExperienceStore, sqliteExperienceWriter } from '../src/index.js';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'trinity-writer-')), 'experiences.db');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true, force: true }));

const batch = (step: number): readonly Experience[] =>
  [0, 1].map((task) =>
    createExperience({ eid: { batch: step, task }, tokens: [1, 2], promptLength: 1 }),
  );
const follow = (graceMs = 1) => ({
  path,
  followWriter: { clock: systemClock, everyMs: 2, graceMs },
});
const uids = (experiences: readonly Experience[] | undefined): readonly string[] =>
  (experiences ?? []).map(({ eid }) => uid(eid));

it('gives a trainer what a writer adds while it waits, each experience once, and ends after the writer', async () => {
  const writer = sqliteExperienceWriter({ path });
  await writer.put(batch(1), { step: 1 });
  const store = sqliteExperienceStore(follow());
  await store.rollback(0);
  const first = await store.take(2);
  const waiting = store.take(2);
  await writer.put(batch(2), { step: 2 });
  const second = await waiting;
  expect([...uids(first?.experiences), ...uids(second?.experiences)]).toEqual([
    '1/0/0/0/',
    '1/1/0/0/',
    '2/0/0/0/',
    '2/1/0/0/',
  ]);
  await first!.acknowledge(1);
  // A resumed trainer releases unfinished experiences; later ones are not duplicated.
  await store.rollback(0);
  expect(uids((await store.take(4))?.experiences)).toHaveLength(4);
  const atEnd = store.take(2);
  await writer.close();
  expect(await atEnd).toBeUndefined();
  await store.close();
});

it('takes the end of the data for its end where there has never been a writer', async () => {
  const earlier = sqliteExperienceStore({ path });
  await earlier.put(batch(1));
  await earlier.close();
  const store = sqliteExperienceStore(follow(60_000));
  expect((await store.take(8))?.experiences).toHaveLength(2);
  expect(await store.take(8)).toBeUndefined();
  await store.close();
});

it('waits for a writer that is late, and says when it has been away for too long', async () => {
  await sqliteExperienceWriter({ path }).close();
  let gone = 0;
  const onGone = (): void => void gone++;
  const open = (graceMs: number): ExperienceStore =>
    sqliteExperienceStore({ path, followWriter: { ...follow(graceMs).followWriter, onGone } });
  const store = open(60_000);
  const waiting = store.take(2);
  const writer = sqliteExperienceWriter({ path });
  await writer.put(batch(1));
  expect((await waiting)?.experiences).toHaveLength(2);
  await writer.close();
  await store.close();
  const later = open(1);
  expect((await later.take(8))?.experiences).toHaveLength(2);
  expect(await later.take(8)).toBeUndefined();
  expect(gone).toBe(1);
  await later.close();
});

it('waits for a writer that comes back', async () => {
  const first = sqliteExperienceWriter({ path });
  const store = sqliteExperienceStore(follow(60_000));
  const waiting = store.take(2);
  await first.close();
  const second = sqliteExperienceWriter({ path });
  await second.put(batch(1), { step: 1 });
  expect((await waiting)?.experiences).toHaveLength(2);
  expect(await second.explorerState()).toEqual({ step: 1 });
  await second.close();
  await store.close();
});

it('lets one writer in at a time, and rejects what is stored already', async () => {
  const writer = sqliteExperienceWriter({ path });
  expect(() => sqliteExperienceWriter({ path })).toThrow(
    expect.objectContaining({ code: 'BUFFER_LOCKED' }),
  );
  await writer.put(batch(1));
  await expect(writer.put(batch(1))).rejects.toMatchObject({ name: 'BufferError' });
  await writer.close();
});

it('counts commits apart from the state of an explorer that has the store', async () => {
  const [writer, store] = [sqliteExperienceWriter({ path }), sqliteExperienceStore({ path })];
  await store.put([], { step: 18, feed: { cursor: 72 } });
  expect(await writer.lastCommit()).toBe(0);
  await writer.put(batch(1), undefined, 1);
  await store.put(batch(19), { step: 19, feed: { cursor: 76 } });
  expect([await writer.lastCommit(), await store.lastCommit()]).toEqual([1, 1]);
  expect(await store.explorerState()).toEqual({ step: 19, feed: { cursor: 76 } });
  await writer.close();
  await store.close();
});

it('reads the number of commits where an earlier version stored it', async () => {
  const writer = sqliteExperienceWriter({ path });
  await writer.put(batch(7), { step: 7, policyVersion: 4, feed: {} });
  expect(await writer.lastCommit()).toBe(7);
  await writer.close();
});
