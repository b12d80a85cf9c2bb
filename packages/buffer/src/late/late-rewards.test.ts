import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createExperience } from '@trinity-rft/core';
import type { LateRewards, PendingGroup } from '@trinity-rft/core/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lateRewardsBeside } from './late-rewards.js';

let folder: string;
let file: string;
let rewards: LateRewards;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-late-'));
  file = path.join(folder, 'buffer/late_rewards.db');
  rewards = lateRewardsBeside(file);
});
afterEach(async () => {
  await rewards.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Two runs; if `own` is given, it is the reward that the workflow gave the second. */
const group = (step: number, task: number, own?: number): PendingGroup => ({
  task: `${step}/${task}`,
  step,
  runs: [0, 1].map((run) => ({
    run: `${step}/${task}/${run}`,
    reward: run === 1 ? own : undefined,
    deadline: 1000,
    experiences: [
      createExperience({
        tokens: [1, 2],
        promptLength: 1,
        eid: { batch: step, task, run, step: 0, suffix: '0' },
      }),
    ],
  })),
});
const dueAt = (now: number) =>
  rewards.due(now).map(({ task, runs }) => [task, ...runs.map(({ reward }) => reward)]);

describe('a reward that comes later', () => {
  it('is refused by name: before the run is stored, unknown, unusable, a second one, too late', () => {
    expect(rewards.score('1/0/0', 1)).toBe('unknown');
    rewards.add([group(1, 0), group(1, 1, 0.5)]);
    expect(rewards.score('1/0/0', 1)).toBe('unknown');
    rewards.commit(1, ['1/0', '1/1']);
    expect(rewards.score('1/0/7', 1)).toBe('unknown');
    expect(rewards.score('1/1/1', 1)).toBe('unknown');
    for (const value of [NaN, Infinity, 1e10])
      expect(rewards.score('1/0/0', value)).toBe('unusable');
    expect(rewards.score('1/0/0', 0.7)).toBe('stored');
    expect(rewards.score('1/0/0', 0.7)).toBe('stored');
    expect(rewards.score('1/0/0', 0.8)).toBe('scored');
    rewards.due(1000);
    expect(rewards.score('1/0/1', 1)).toBe('late');
    expect(rewards.waiting()).toEqual([]);
  });

  it('is held to the same rules in SQL', () => {
    rewards.add([group(3, 1)]);
    rewards.commit(3, ['3/1']);
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const database = new DatabaseSync(file);
    const insert = (run: string, reward: string): void =>
      database.exec(`INSERT OR REPLACE INTO score (run, reward) VALUES ('${run}', ${reward})`);
    insert('3/1/0', '0.25');
    expect(() => insert('3/1/0', '0.5')).toThrow('has another reward already');
    expect(() => insert('3/1/1', "'good'")).toThrow('is not a number');
    expect(() => insert('9/9/9', '1')).toThrow('no run with this id');
    expect(() => database.exec('UPDATE score SET reward = 1')).toThrow('another reward already');
    insert('3/1/1', '-1');
    database.close();
    expect(dueAt(0)).toEqual([['3/1', 0.25, -1]]);
  });

  it('is kept in a file of an earlier version, which gets checksums', async () => {
    rewards.add([group(1, 0)]);
    rewards.commit(1, ['1/0']);
    rewards.score('1/0/0', 0.5);
    await rewards.close();
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const earlier = new DatabaseSync(file);
    earlier.exec(`DROP TABLE stored_number; DROP TRIGGER score_is_final;
      CREATE TRIGGER score_is_final BEFORE UPDATE ON score BEGIN SELECT RAISE(ABORT, 'final'); END`);
    for (const column of ['run', 'task']) earlier.exec(`DROP INDEX pending_experience_${column}`);
    for (const table of ['pending_run', 'pending_experience', 'score'])
      earlier.exec(`ALTER TABLE ${table} DROP COLUMN checksum`);
    earlier.close();
    rmSync(`${file}-commits`);
    rewards = lateRewardsBeside(file);
    rewards.score('1/0/1', 1);
    expect(dueAt(0)).toEqual([['1/0', 0.5, 1]]);
    const database = new DatabaseSync(file, { readOnly: true });
    for (const column of ['run', 'task']) {
      const query = `EXPLAIN QUERY PLAN SELECT bytes FROM pending_experience WHERE ${column} = ''`;
      expect(database.prepare(query).get()?.['detail']).toMatch(/^SEARCH/);
    }
    database.close();
  });

  it('is refused by name when it, its run or its log has been changed', async () => {
    rewards.add([group(1, 0)]);
    rewards.commit(1, ['1/0']);
    rewards.score('1/0/0', 0.5);
    rewards.score('1/0/1', 0.5);
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const other = new DatabaseSync(file);
    other.exec("DROP TRIGGER score_is_final; UPDATE score SET reward = 9 WHERE run = '1/0/0'");
    other.close();
    expect(() => rewards.due(0)).toThrow('Run "1/0/0"');
    await rewards.close();
    rewards = lateRewardsBeside(file);
    expect(() => rewards.due(0)).toThrow('1 of 2 rows of its table score have been changed');
    rmSync(file);
    rewards = lateRewardsBeside(file);
    expect(() => rewards.due(0)).toThrow(/lacks the last 4 of 4 commits/);
    rewards = lateRewardsBeside(path.join(folder, 'none', 'store.db'));
  });

  it('is listed as missing while another connection writes, and where the file is still empty', () => {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const other = new DatabaseSync(path.join(folder, 'late_rewards.db'));
    expect(lateRewardsBeside(path.join(folder, 'store.db')).waiting()).toEqual([]);
    other.close();
    rewards.add([group(1, 0, 0.5)]);
    rewards.commit(1, ['1/0']);
    const writer = new DatabaseSync(path.join(folder, 'buffer/late_rewards.db'));
    writer.exec('BEGIN IMMEDIATE');
    expect(rewards.waiting()).toEqual([{ run: '1/0/0', deadline: 1000 }]);
    writer.close();
  });

  it('belongs to its database where several runs share a folder', async () => {
    const [a, b] = ['a.db', 'b.db'].map((name) =>
      lateRewardsBeside(path.join(folder, name), 'shared'),
    ) as [LateRewards, LateRewards];
    const found = lateRewardsBeside(path.join(folder, 'a.db'));
    a.add([group(1, 0, 0.5)]);
    a.commit(1, ['1/0']);
    b.add([group(1, 0, 0.7)]);
    b.commit(0, []);
    expect(found.waiting()).toEqual([{ run: '1/0/0', deadline: 1000 }]);
    expect(found.score('1/0/0', 1)).toBe('stored');
    expect(a.due(0)[0]?.runs.map(({ reward }) => reward)).toEqual([1, 0.5]);
    rewards.add([group(1, 0)]);
    rewards.commit(1, ['1/0']);
    expect(lateRewardsBeside(file).waiting()).toHaveLength(2);
    await Promise.all([a.close(), b.close()]);
  });

  it('completes its group, and only that one', () => {
    rewards.add([group(1, 0), group(1, 1, 0.5)]);
    rewards.commit(1, ['1/0', '1/1']);
    expect(dueAt(999)).toEqual([]);
    rewards.score('1/0/1', 1);
    rewards.score('1/1/0', 2);
    expect(dueAt(999)).toEqual([['1/1', 2, 0.5]]);
    expect(dueAt(1000)).toEqual([
      ['1/0', undefined, 1],
      ['1/1', 2, 0.5],
    ]);
    rewards.commit(2, ['1/0']);
    expect(dueAt(1000)).toEqual([['1/0', undefined, 1]]);
    expect(rewards.score('1/1/0', 3)).toBe('scored');
  });

  it('is kept over a restart, and groups of steps that are made again are forgotten', async () => {
    rewards.add([group(1, 0)]);
    rewards.commit(1, ['1/0']);
    rewards.score('1/0/0', 1);
    rewards.add([group(2, 0)]);
    await rewards.close();
    rewards = lateRewardsBeside(file);
    rewards.commit(1, ['1/0']);
    expect(rewards.waiting()).toEqual([{ run: '1/0/1', deadline: 1000 }]);
    rewards.add([group(2, 0)]);
    rewards.commit(2, ['1/0', '2/0']);
    expect(rewards.waiting().map(({ run }) => run)).toEqual(['1/0/1', '2/0/0', '2/0/1']);
    rewards.score('1/0/1', 0);
    const [due] = rewards.due(0);
    expect(due?.runs.map(({ experiences }) => [...(experiences[0]?.tokens ?? [])])).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });
});
