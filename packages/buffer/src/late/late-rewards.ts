/**
 * Stores rollouts that wait for rewards in an SQLite file, to which other processes can write the
 * rewards.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { BufferError, describeError, TrinityError } from '@trinity-rft/core';
import {
  checkedTables,
  decodeExperience,
  encodeExperience,
  hasBeenStored,
  inTransaction,
  openSqlite,
  useWriteAheadLog,
  type CheckedTables,
  type LateRewards,
  type PendingGroup,
  type RewardReceipt,
} from '@trinity-rft/core/store';
import { applicationId, indexes, refusals, schema, upgrade, type Refusal } from './schema.js';

export { refusals };

const fileName = 'late_rewards.db';

/** Returns true if this is the name of a file with rollouts that wait for rewards. */
export const isLateRewards = (name: string): boolean =>
  name === fileName || name.endsWith(`.${fileName}`);

/**
 * Opens the store of rollouts that wait for rewards, a file next to the experience store
 * `database`. The file is created when the first rollout waits. Calls of `score` and `waiting`
 * leave no file open.
 * @param folder who uses the folder of `database`. If `run`, a single training run does, and the
 * file is named `late_rewards.db`. If `shared`, several training runs do, and each file is named
 * after its database. If `unknown`, the file that exists is used
 */
export function lateRewardsBeside(
  database: string,
  folder: 'run' | 'shared' | 'unknown' = 'unknown',
): LateRewards {
  const ofDatabase = `${database}.${fileName}`;
  const isNamed = (): boolean =>
    folder === 'shared' || (folder === 'unknown' && hasBeenStored(ofDatabase));
  const path = (): string => (isNamed() ? ofDatabase : join(dirname(database), fileName));
  let opened: LateFile | undefined;
  const file = (): LateFile => (opened ??= open(path(), 'whole'));
  const isThere = (): boolean => opened !== undefined || hasBeenStored(path());
  const transaction = <T>(work: (file: LateFile) => T): T =>
    file().tables.transaction(() => work(file()));
  return {
    score: (run, reward) => scoreRun(path(), run, reward),
    waiting: () => waitingRuns(path()),
    add: (groups) => {
      if (groups.length > 0)
        transaction(({ database }) => groups.forEach((each) => add(database, each)));
    },
    due: (now) => (isThere() ? transaction((late) => due(late, path(), now)) : []),
    commit: (step, waiting) => {
      if (isThere()) transaction(({ database }) => commit(database, step, JSON.stringify(waiting)));
    },
    close: async () => {
      opened?.database.close();
      opened = undefined;
    },
  };
}

/**
 * Stores the reward of a rollout.
 * @throws BufferError if the database failed
 */
function scoreRun(path: string, run: string, reward: number): RewardReceipt {
  if (!existsSync(path)) return 'unknown';
  const { database, tables } = open(path);
  try {
    tables.transaction(() =>
      database.prepare('INSERT INTO score (run, reward) VALUES (?, ?)').run(run, reward),
    );
    return 'stored';
  } catch (cause) {
    const why = (cause as Error).message;
    const refusal = refusalNames.find((each) => refusals[each] === why);
    if (refusal) return refusal;
    throw new BufferError(
      `The reward of run "${run}" was not stored: ${why} (${path}). Give it again.`,
      { code: 'REWARD_NOT_STORED', cause },
    );
  } finally {
    database.close();
  }
}

function waitingRuns(path: string): ReturnType<LateRewards['waiting']> {
  if (!existsSync(path)) return [];
  let database: DatabaseSync | undefined;
  try {
    database = openSqlite(path, { readOnly: true, timeout });
    if (isEmpty(database, path)) return [];
    return database
      .prepare(
        `SELECT run, deadline FROM pending_run
         WHERE is_open AND NOT is_expired AND own_reward IS NULL AND run NOT IN (SELECT run FROM score)
         ORDER BY step, run`,
      )
      .all()
      .map(({ run, deadline }) => ({ run: String(run), deadline: Number(deadline) }));
  } catch (cause) {
    throw notOpened(path, cause);
  } finally {
    database?.close();
  }
}

const refusalNames = Object.keys(refusals) as Refusal[];

interface LateFile {
  readonly database: DatabaseSync;
  readonly tables: CheckedTables;
}

/** Milliseconds for which a connection waits for the lock of another connection. */
const timeout = 10_000;
const tables = ['pending_run', 'pending_experience', 'score'];

/**
 * Opens the file, and creates it if it is missing.
 * @param expected `whole` to verify the contents, which takes about a second per gigabyte
 * @throws BufferError if the file cannot be opened, is damaged or belongs to another program
 */
function open(path: string, expected?: 'whole'): LateFile {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    database = openSqlite(path, { timeout });
    database.exec('PRAGMA synchronous = FULL');
    useWriteAheadLog(database);
    prepareSchema(database, path);
    const file = { database, tables: checkedTables(database, { path, tables, upgrade }) };
    if (expected === 'whole') file.tables.verify(['score']);
    return file;
  } catch (cause) {
    database?.close();
    throw notOpened(path, cause);
  }
}

const notOpened = (path: string, cause: unknown): TrinityError =>
  TrinityError.is(cause)
    ? cause
    : new BufferError(
        `${path}, where runs wait for rewards, cannot be opened: ${describeError(cause)}. Expected a file that this process may read and write, as it was stored. Restore it from a copy.`,
        { code: 'BUFFER_OPEN', cause },
      );

function prepareSchema(database: DatabaseSync, path: string): void {
  inTransaction(database, () => {
    if (isEmpty(database, path)) database.exec(schema);
    database.exec(indexes);
  });
}

/**
 * Returns true if the file has no application id yet, which means that it has no tables.
 * @throws BufferError if the file belongs to another program
 */
function isEmpty(database: DatabaseSync, path: string): boolean {
  const id = Number(database.prepare('PRAGMA application_id').get()?.['application_id']);
  if (id === 0 || id === applicationId) return id === 0;
  throw new BufferError(`${path} is a database of another program. Move it away.`, {
    code: 'BUFFER_FOREIGN',
  });
}

function add(file: DatabaseSync, { task, step, runs }: PendingGroup): void {
  const addRun = file.prepare(
    `INSERT INTO pending_run (run, task, step, own_reward, deadline) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (run) DO UPDATE SET task = excluded.task, step = excluded.step,
       own_reward = excluded.own_reward, deadline = excluded.deadline, is_open = 0, is_expired = 0`,
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

/**
 * Returns the groups that no longer wait: each of their rollouts has a reward, or its deadline has
 * passed. After this call, rollouts whose deadline has passed accept no more rewards.
 */
function due(
  { database: file, tables: { isWhole, adopt } }: LateFile,
  path: string,
  now: number,
): readonly PendingGroup[] {
  adopt('score');
  file
    .prepare(
      `UPDATE pending_run SET is_expired = 1
       WHERE is_open AND own_reward IS NULL AND deadline <= ? AND run NOT IN (SELECT run FROM score)`,
    )
    .run(Math.floor(now));
  const rows = file
    .prepare(
      `SELECT r.run AS run, r.task AS task, r.step AS step, r.deadline AS deadline, coalesce(s.reward, r.own_reward) AS reward,
         ${isWhole('pending_run', 'r')} AND (s.run IS NULL OR ${isWhole('score', 's')}) AS is_whole
       FROM pending_run r LEFT JOIN score s ON s.run = r.run
       WHERE r.is_open AND r.task NOT IN (
         SELECT w.task FROM pending_run w
         WHERE w.own_reward IS NULL AND NOT w.is_expired AND w.run NOT IN (SELECT run FROM score))
       ORDER BY r.step, (SELECT min(e.id) FROM pending_experience e WHERE e.run = r.run)`,
    )
    .all();
  const experiencesOf = file.prepare(
    `SELECT bytes, ${isWhole('pending_experience')} AS is_whole FROM pending_experience WHERE run = ? ORDER BY id`,
  );
  const runs = rows.map((row) => {
    const run = String(row['run']);
    const stored = experiencesOf.all(run);
    if ([row, ...stored].some(({ is_whole: isWhole }) => isWhole !== 1)) throw changed(path, run);
    return {
      task: String(row['task']),
      step: Number(row['step']),
      run,
      reward: row['reward'] === null ? undefined : Number(row['reward']),
      deadline: Number(row['deadline']),
      experiences: stored.map(({ bytes }) => decodeExperience(bytes as Uint8Array)),
    };
  });
  const groups = Map.groupBy(runs, ({ task }) => task);
  return [...groups].map(([task, members]) => ({
    task,
    step: members[0]?.step ?? 0,
    runs: members,
  }));
}

const changed = (path: string, run: string): BufferError =>
  new BufferError(
    `Run "${run}" in ${path}, its reward or its experiences have been changed since they were stored: they differ from their checksums. Restore the file from a copy.`,
    { code: 'DATABASE_DAMAGED' },
  );

/**
 * Deletes the groups of steps after `step`. Of the remaining groups, those in `waiting` accept
 * rewards from now on, and all others no longer do. See `LateRewards.commit`.
 * @param waiting task keys, as a JSON array
 */
function commit(file: DatabaseSync, step: number, waiting: string): void {
  const others = 'task NOT IN (SELECT value FROM json_each(?1))';
  const later = 'SELECT task FROM pending_run WHERE step > ?';
  file.prepare(`DELETE FROM pending_experience WHERE task IN (${later})`).run(step);
  file.prepare('DELETE FROM pending_run WHERE step > ?').run(step);
  file
    .prepare(`UPDATE pending_run SET is_open = NOT is_open WHERE is_open = (${others})`)
    .run(waiting);
  file.prepare(`DELETE FROM pending_experience WHERE ${others}`).run(waiting);
}
