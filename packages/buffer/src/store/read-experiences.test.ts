import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createExperience } from '@trinity-rft/core';
import { mergeCalls } from '@trinity-rft/core/internal';
import { afterAll, describe, expect, it } from 'vitest';
import { readExperiences, withReader } from './read-experiences.js';
import { sqliteExperienceStore } from './sqlite.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-read-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const experience = (step: number, policyVersion: number) =>
  createExperience({
    eid: { batch: 1, task: 0, step },
    tokens: [1, 2, 3],
    promptLength: 1,
    logprobs: [-1, -2],
    policyVersion,
    temperature: 1,
  });

describe('readExperiences', () => {
  it('reads all that is stored, trained or not, while a run has the store open', async () => {
    const file = path.join(root, 'store.db');
    const store = sqliteExperienceStore({ path: file });
    const stored = [experience(0, 3), experience(1, 3), experience(2, 2), experience(3, 4)];
    await store.put(stored);
    const lease = await store.take(1);
    await lease!.acknowledge(1);
    const reader = readExperiences(file);
    expect([...reader.experiences()]).toEqual(stored);
    expect(reader.versions()).toEqual([
      { policyVersion: 2, count: 1 },
      { policyVersion: 3, count: 2 },
      { policyVersion: 4, count: 1 },
    ]);
    expect([...reader.experiences(3)].map(({ eid }) => eid.step)).toEqual([0, 1]);
    reader.close();
    await store.close();
  });

  it('reads merged calls as they were stored', async () => {
    const file = path.join(root, 'merged.db');
    const store = sqliteExperienceStore({ path: file });
    const next = createExperience({
      ...experience(1, 5),
      tokens: [1, 2, 3, 4, 5],
      promptLength: 4,
      logprobs: [-1],
      actionMask: [1],
    });
    const { experiences } = mergeCalls([experience(0, 3), next]);
    await store.put(experiences);
    const reader = readExperiences(file);
    expect([...reader.experiences()]).toEqual(experiences);
    expect(experiences[0]!.spans).toHaveLength(2);
    reader.close();
    await store.close();
  });

  it('reads rows in pieces, what came since, and what train steps have used', async () => {
    const file = path.join(root, 'pieces.db');
    const store = sqliteExperienceStore({ path: file });
    await store.put([experience(0, 0), experience(1, 0), experience(2, 0)]);
    const reader = readExperiences(file);
    expect(reader.rowsAfter(0, 2)).toEqual(
      [0, 1].map((step) => ({ id: step + 1, experience: experience(step, 0) })),
    );
    expect(reader.rowsAfter(3, 2)).toEqual([]);
    await store.put([experience(3, 1)]);
    expect(reader.rowsAfter(3, 2)).toEqual([{ id: 4, experience: experience(3, 1) }]);
    expect(reader.count()).toBe(4);
    expect(reader.newestId()).toBe(4);
    expect(reader.idsFrom(1, 2, { newestFirst: true })).toEqual([3, 2]);
    expect(reader.idsFrom(0, 9, { newestFirst: false, upTo: 2 })).toEqual([1, 2]);
    expect(reader.idsOfRun('1/0/0')).toEqual([1, 2, 3, 4]);
    expect(reader.idsOfRun('1/0')).toEqual([]);
    expect(reader.idsOfTask('1/0')).toEqual([1, 2, 3, 4]);
    expect(reader.idsOfTask('1')).toEqual([]);
    expect(reader.headsAfter(3, 9)).toMatchObject([
      {
        id: 4,
        eid: { step: 3 },
        promptLength: 1,
        policyVersion: 1,
        tokens: Int32Array.of(1, 2, 3),
      },
    ]);
    expect(reader.row(4)).toEqual({ id: 4, experience: experience(3, 1) });
    expect(reader.row(5)).toBeUndefined();
    for (const step of [1, 2]) {
      const lease = await store.take(1);
      await lease!.acknowledge(step);
    }
    expect(reader.usedSince(0)).toEqual(
      [1, 2].map((id) => ({ id, trainStep: id, dropped: false })),
    );
    expect(reader.usedSince(2)).toEqual([{ id: 2, trainStep: 2, dropped: false }]);
    // After deletions, ids have gaps.
    await store.prune(2);
    expect(reader.count()).toBe(2);
    expect(reader.idsFrom(0, 9, { newestFirst: true })).toEqual([4, 3]);
    expect(reader.idsFrom(1, 9, { newestFirst: false, upTo: 4 })).toEqual([4]);
    reader.close();
    await store.close();
  });

  it('reads the advantages that train steps have used, for as long as the step counts', async () => {
    const file = path.join(root, 'advantages.db');
    const store = sqliteExperienceStore({ path: file });
    await store.put([experience(0, 0), experience(1, 0), experience(2, 0)]);
    const lease = await store.take(3);
    const given = [
      [0.5, 0.5],
      [NaN, -2],
      [1, 2],
    ].map((values) => Float32Array.from(values));
    await lease!.acknowledge(1, given);
    const reader = readExperiences(file);
    const use = { trainStep: 1, dropped: false };
    expect(reader.usedSince(1)).toEqual([
      { ...use, id: 1, advantage: 0.5 },
      { ...use, id: 2, advantage: -2 },
      { ...use, id: 3, advantage: 1.5 },
    ]);
    expect(reader.usesAfter(1, 1)).toEqual([{ ...use, id: 2, advantage: -2, place: 2 }]);
    // All trained tokens of the first two have one advantage.
    expect([1, 2].map((id) => reader.uses(id)[0]?.tokenAdvantages)).toEqual([undefined, undefined]);
    expect(reader.uses(3)).toEqual([{ ...use, id: 3, advantage: 1.5, tokenAdvantages: given[2] }]);
    await store.rollback(0);
    expect(reader.usedSince(0)).toEqual([]);
    const again = await store.take(3);
    await again!.acknowledge(1, given);
    await store.prune(1);
    expect(reader.uses(3)).toEqual([]);
    reader.close();
    await store.close();
  });

  it('reads uses in the order in which they were recorded, also after ANALYZE', async () => {
    const file = path.join(root, 'order.db');
    await sqliteExperienceStore({ path: file }).close();
    const database = new DatabaseSync(file);
    // With these statistics SQLite prefers the index, which is in the order of ids.
    database.exec(`
      INSERT INTO experience (id, uid, policy_version, bytes) VALUES (1, 'a', 0, x''), (2, 'b', 0, x'');
      WITH RECURSIVE step (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM step WHERE n < 2000)
        INSERT INTO used (id, train_step, dropped) SELECT 1 + n % 2, n, 0 FROM step;
      ANALYZE`);
    database.close();
    const steps = withReader(file, (reader) => reader.usedSince(1990).map((use) => use.trainStep));
    expect(steps).toEqual([1990, 1991, 1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999, 2000]);
  });

  it('names the file when it turns out to be damaged while rows are read', async () => {
    const file = path.join(root, 'damaged.db');
    const store = sqliteExperienceStore({ path: file });
    await store.put(Array.from({ length: 2000 }, (_, step) => experience(step, 0)));
    await store.close();
    const bytes = readFileSync(file);
    const page = bytes.readUInt16BE(16);
    bytes.fill(0xff, bytes.length - 30 * page, bytes.length - 20 * page);
    writeFileSync(file, bytes);
    const reader = readExperiences(file);
    expect(() => [...reader.experiences()]).toThrow(/damaged\.db cannot be read: /);
    reader.close();
    const database = new DatabaseSync(file);
    database.exec('UPDATE experience SET policy_version = 7 WHERE id = 1');
    database.close();
    withReader(file, ({ experiences, row }) => {
      for (const read of [() => [...experiences()], () => row(1)])
        expect(read).toThrow(/damaged\.db: Experience 1 \(1.*\) has been changed/);
    });
  });

  it('rejects a file that is not a store', () => {
    const file = path.join(root, 'text.db');
    writeFileSync(file, 'not a database, but long enough to be looked at as one'.repeat(20));
    expect(() => readExperiences(file)).toThrow(
      /cannot be read: .*Expected the experience store of a run/,
    );
    expect(() => readExperiences(path.join(root, 'none.db'))).toThrow('there is no such file');
    expect(() => readExperiences('postgresql://me:secret@host/runs')).toThrow(
      /^The experiences in postgresql:\/\/me:(?!secret).* name buffer\/experience_buffer.db there/,
    );
  });
});
