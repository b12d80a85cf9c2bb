import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createExperience, mergeCalls } from '@trinity-rft/core';
import { afterAll, describe, expect, it } from 'vitest';
import { readExperiences } from './read-experiences.js';
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
    const next = createExperience({ ...experience(1, 5), tokens: [1, 2, 3, 4, 5], promptLength: 4, logprobs: [-1], actionMask: [1] });
    const { experiences } = mergeCalls([experience(0, 3), next]);
    await store.put(experiences);
    const reader = readExperiences(file);
    expect([...reader.experiences()]).toEqual(experiences);
    expect(experiences[0]!.spans).toHaveLength(2);
    reader.close();
    await store.close();
  });

  it('refuses what is no store', () => {
    const file = path.join(root, 'text.db');
    writeFileSync(file, 'not a database, but long enough to be looked at as one'.repeat(20));
    expect(() => readExperiences(file)).toThrow(/cannot be read: .*Expected the experience store of a run/);
    expect(() => readExperiences(path.join(root, 'none.db'))).toThrow('there is no such file');
  });
});
