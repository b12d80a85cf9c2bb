/** Runs that wait for rewards, in an SQLite file that other processes write scores to. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import {
  BufferError,
  decodeExperience,
  encodeExperience,
  inTransaction,
  usableReward,
  type DueGroup,
  type LateRewards,
  type PendingGroup,
} from '@trinity-rft/core/internal';
import { applicationId, refusals, schema } from './schema.js';

export interface LateRewardOptions {
  /** The database file; made, with its folder, when the first run waits. */
  readonly path: string;
}

/** Rewards that wait in one SQLite file, which other processes may write as well. */
export function sqliteLateRewards({ path }: LateRewardOptions): LateRewards {
  let opened: DatabaseSync | undefined;
  const database = (): DatabaseSync => (opened ??= open(path));
  return {
    add: (groups) => {
      if (groups.length > 0)
        inTransaction(database(), () => groups.forEach((each) => add(database(), each)));
    },
    due: (now) =>
      opened || existsSync(path) ? inTransaction(database(), () => due(database(), now)) : [],
    commit: (step, waiting) => {
      if (opened || existsSync(path))
        inTransaction(database(), () => commit(database(), step, JSON.stringify(waiting)));
    },
    close: async () => opened?.close(),
  };
}

/**
 * Gives a run its reward; the same one again changes nothing.
 * @throws BufferError `REWARD_REFUSED` saying why, with `details.reason`: the id is `unknown`, the value
 * `unusable`, the run is `scored` with another reward, or it is too `late` for it; none where the
 * database failed
 */
export function scoreRun(path: string, run: string, reward: number): void {
  if (!existsSync(path)) throw refused(run, 'no run of it waits for a reward', path, 'unknown');
  const file = open(path);
  try {
    file.prepare('INSERT INTO score (run, reward) VALUES (?, ?)').run(run, reward);
  } catch (error) {
    const why = (error as Error).message;
    throw refused(run, why, path, reasonOf(why), error);
  } finally {
    file.close();
  }
}

/** The runs that wait, in order, with their deadlines. */
export function waitingRuns(path: string): readonly { run: string; deadline: number }[] {
  if (!existsSync(path)) return [];
  const file = open(path);
  try {
    return file
      .prepare(
        `SELECT run, deadline FROM pending_run
         WHERE is_open AND NOT is_expired AND own_reward IS NULL AND run NOT IN (SELECT run FROM score)
         ORDER BY step, run`,
      )
      .all()
      .map(({ run, deadline }) => ({ run: String(run), deadline: Number(deadline) }));
  } finally {
    file.close();
  }
}

const reasonOf = (why: string): string | undefined =>
  Object.entries(refusals).find(([, text]) => text === why)?.[0];

const refused = (
  run: string,
  why: string,
  path: string,
  reason: string | undefined,
  cause?: unknown,
): BufferError =>
  new BufferError(
    `The reward of run "${run}" was refused: ${why} (${path}). Ids are explore step/task/run, as rollouts.jsonl and "trinity view" show them; a reward is ${usableReward}.`,
    { code: 'REWARD_REFUSED', details: { reason }, cause },
  );

function open(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
  const file = new Database(path, { timeout: 10_000 });
  file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  inTransaction(file, () => {
    const id = Number(file.prepare('PRAGMA application_id').get()?.['application_id']);
    if (id === 0) file.exec(schema);
    else if (id !== applicationId)
      throw new BufferError(`${path} is a database of another program. Move it away.`, {
        code: 'BUFFER_FOREIGN',
      });
  });
  return file;
}

function add(file: DatabaseSync, { task, step, runs }: PendingGroup): void {
  const addRun = file.prepare(
    'INSERT OR REPLACE INTO pending_run (run, task, step, own_reward, deadline) VALUES (?, ?, ?, ?, ?)',
  );
  const addExperience = file.prepare(
    'INSERT INTO pending_experience (run, task, bytes) VALUES (?, ?, ?)',
  );
  file.prepare('DELETE FROM pending_experience WHERE task = ?').run(task);
  for (const { run, reward, deadline, experiences } of runs) {
    addRun.run(run, task, step, reward ?? null, Math.round(deadline));
    for (const experience of experiences)
      addExperience.run(run, task, encodeExperience(experience));
  }
}

/** A run whose deadline is found to have passed cannot be scored any more. */
function due(file: DatabaseSync, now: number): readonly DueGroup[] {
  file
    .prepare(
      `UPDATE pending_run SET is_expired = 1
       WHERE is_open AND own_reward IS NULL AND deadline <= ? AND run NOT IN (SELECT run FROM score)`,
    )
    .run(Math.floor(now));
  const rows = file
    .prepare(
      `SELECT r.run AS run, r.task AS task, r.step AS step, coalesce(s.reward, r.own_reward) AS reward
       FROM pending_run r LEFT JOIN score s ON s.run = r.run
       WHERE r.is_open AND r.task NOT IN (
         SELECT w.task FROM pending_run w
         WHERE w.own_reward IS NULL AND NOT w.is_expired AND w.run NOT IN (SELECT run FROM score))
       ORDER BY r.step, (SELECT min(e.id) FROM pending_experience e WHERE e.run = r.run)`,
    )
    .all();
  const experiencesOf = file.prepare(
    'SELECT bytes FROM pending_experience WHERE run = ? ORDER BY id',
  );
  const runs = rows.map(({ run, task, step, reward }) => ({
    task: String(task),
    step: Number(step),
    run: String(run),
    reward: reward === null ? undefined : Number(reward),
    experiences: experiencesOf
      .all(String(run))
      .map(({ bytes }) => decodeExperience(bytes as Uint8Array)),
  }));
  const groups = Map.groupBy(runs, ({ task }) => task);
  return [...groups].map(([task, members]) => ({
    task,
    step: members[0]?.step ?? 0,
    runs: members,
  }));
}

/** @param waiting tasks, as a JSON array */
function commit(file: DatabaseSync, step: number, waiting: string): void {
  const others = 'task NOT IN (SELECT value FROM json_each(?))';
  const later = 'SELECT task FROM pending_run WHERE step > ?';
  file.prepare(`DELETE FROM pending_experience WHERE task IN (${later})`).run(step);
  file.prepare('DELETE FROM pending_run WHERE step > ?').run(step);
  file.prepare(`UPDATE pending_run SET is_open = NOT (${others})`).run(waiting);
  file.prepare(`UPDATE pending_run SET is_over = 1 WHERE ${others}`).run(waiting);
  file.prepare(`DELETE FROM pending_experience WHERE ${others}`).run(waiting);
}
