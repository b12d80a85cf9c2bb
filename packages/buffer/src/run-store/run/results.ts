/** Stores the results of tasks, and the rollouts that wait for rewards. */
import { type Experience, BufferError, uid } from '@trinity-rft/core';
import {
  encodeExperience,
  type LeasedTask,
  type Membership,
  type RunStore,
} from '@trinity-rft/core/store';
import { sql } from 'kysely';
import { taskState, type ExperienceRow } from '../database/tables.js';
import { experienceChecksum, textChecksum } from '../database/checksums.js';
import { countDown, type BatchCounts } from './completion.js';
import { assertMember, chunksOf, type Connection, type RunContext } from './context.js';
import { batchCalls } from './batch-calls.js';

/** The result of a task, as an explorer reports it. */
interface Done {
  readonly member: Membership;
  readonly task: LeasedTask;
  readonly outcome: string;
  readonly encoded: readonly Encoded[];
  readonly awaits: readonly string[];
}

type Answer = 'stored' | 'late';

/** Maximum number of results of one process that are stored in one transaction. */
const most = 64;

export function results(context: RunContext): Pick<RunStore, 'storeResult'> {
  const store = batchCalls<Done, Answer>(
    (all) =>
      context.database.write('store the result of a task', (db) => storeAll(context, db, all)),
    most,
  );
  return {
    storeResult: (member, task, { experiences, outcome, awaits = [] }) =>
      store({
        member,
        task,
        outcome: JSON.stringify(outcome),
        encoded: encode(experiences),
        awaits,
      }),
  };
}

async function storeAll(
  context: RunContext,
  db: Connection,
  all: readonly Done[],
): Promise<readonly Answer[]> {
  const members = new Map(all.map(({ member }) => [member.epoch, member]));
  for (const member of members.values()) await assertMember(context, db, member);
  const ids = await batchIds(context, db, all);
  const known = all.map((done) => {
    const batch = ids.get(done.task.batch);
    if (batch === undefined) throw unknownTask(done.task);
    return { ...done, batch };
  });
  const marked = new Set<string>();
  for (const member of members.values()) {
    const own = known.filter((done) => done.member.epoch === member.epoch);
    for (const key of await markDone(context, db, member, own)) marked.add(key);
  }
  const stored = known.filter((done) => marked.has(keyOf(done.batch, done.task.task)));
  await insertExperiences(context, db, stored);
  await insertAwaited(context, db, stored);
  for (const counts of countsOf(stored)) await countDown(context, db, counts);
  const answers: Answer[] = [];
  for (const done of known)
    answers.push(stored.includes(done) ? 'stored' : await repeatedOrLate(context, db, done));
  return answers;
}

type Placed = Done & {
  /** Id of the batch. */
  readonly batch: number;
};

const keyOf = (batch: number, task: number): string => `${batch}/${task}`;

async function batchIds(
  { run }: RunContext,
  db: Connection,
  all: readonly Done[],
): Promise<ReadonlyMap<string, number>> {
  const names = [...new Set(all.map(({ task }) => task.batch))];
  const rows = await db
    .selectFrom('batch')
    .select(['id', 'name'])
    .where('run', '=', run)
    .where('name', 'in', names)
    .execute();
  return new Map(rows.map(({ id, name }) => [name, id]));
}

/**
 * Marks tasks as done if they are open or leased to the worker. A task of this worker may be open
 * again: if the worker sent no heartbeats, another explorer may have leased the task and released
 * it.
 * @returns keys of the marked tasks
 */
async function markDone(
  { run, database }: RunContext,
  db: Connection,
  member: Membership,
  all: readonly Placed[],
): Promise<readonly string[]> {
  const values = all.map(
    ({ batch, task, outcome }) =>
      sql`(CAST(${batch} AS integer), CAST(${task.task} AS integer), CAST(${outcome} AS text), CAST(${textChecksum(outcome)} AS bigint))`,
  );
  const { rows } = await sql<{ batch: number; task: number }>`
    WITH result (batch, task, outcome, checksum) AS (VALUES ${sql.join(values)})
    UPDATE task SET
      state = ${sql.lit(taskState.done)}, owner = ${member.epoch},
      explorer = ${member.name}, outcome = result.outcome, checksum = result.checksum,
      done_at = ${database.now()}
    FROM result
    WHERE task.run = ${run} AND task.batch = result.batch AND task.task = result.task
      AND (state = ${sql.lit(taskState.open)}
        OR (state = ${sql.lit(taskState.leased)} AND owner = ${member.epoch}))
    RETURNING task.batch AS batch, task.task AS task`.execute(db);
  return rows.map(({ batch, task }) => keyOf(batch, task));
}

/**
 * Returns, for each batch, the change in its number of open tasks: minus the number of stored
 * results. Batches are sorted, so that transactions lock them in the same order and do not
 * deadlock.
 */
function countsOf(stored: readonly Placed[]): readonly BatchCounts[] {
  const counts = new Map<number, BatchCounts>();
  for (const { batch: id } of stored) counts.set(id, { id, open: (counts.get(id)?.open ?? 0) - 1 });
  return [...counts.values()].toSorted((a, b) => a.id - b.id);
}

async function repeatedOrLate(
  { run }: RunContext,
  db: Connection,
  { member, task, batch }: Placed,
): Promise<Answer> {
  const row = await db
    .selectFrom('task')
    .select(['state', 'owner'])
    .where('run', '=', run)
    .where('batch', '=', batch)
    .where('task', '=', task.task)
    .executeTakeFirst();
  if (!row) throw unknownTask(task);
  if (row.state === taskState.done && row.owner === member.epoch) return 'stored';
  await db
    .insertInto('late')
    .values({ run, batch, task: task.task, epoch: member.epoch })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return 'late';
}

const unknownTask = ({ batch, task }: LeasedTask): BufferError =>
  new BufferError(
    `A result came for task ${task} of batch ${batch}, which the run does not have. Is this explorer of another run?`,
    { code: 'STORE_UNKNOWN_TASK' },
  );

type Encoded = Pick<ExperienceRow, 'uid' | 'place' | 'policy_version' | 'bytes' | 'checksum'>;

function encode(experiences: readonly Experience[]): readonly Encoded[] {
  return experiences.map((experience, place) => {
    const row = {
      uid: uid(experience.eid),
      place,
      policy_version: experience.policyVersion,
      bytes: encodeExperience(experience),
    };
    return { ...row, checksum: experienceChecksum(row) };
  });
}

/**
 * Inserts the experiences of results.
 * @throws BufferError if a uid is already stored
 */
async function insertExperiences(
  { run }: RunContext,
  db: Connection,
  all: readonly Placed[],
): Promise<void> {
  const rows = all.flatMap(({ batch, task: { task }, encoded }) =>
    encoded.map((row) => ({ ...row, run, batch, task })),
  );
  for (const chunk of chunksOf(rows)) {
    const stored = await db
      .insertInto('experience')
      .values(chunk)
      .onConflict((conflict) => conflict.columns(['run', 'uid']).doNothing())
      .returning('uid')
      .execute();
    if (stored.length < chunk.length) throw duplicateError(chunk, stored);
  }
}

function duplicateError(
  rows: readonly { readonly uid: string }[],
  stored: readonly { readonly uid: string }[],
): BufferError {
  const isNew = new Set(stored.map((row) => row.uid));
  const repeated = rows.find((row) => !isNew.has(row.uid)) ?? rows[0];
  return new BufferError(
    `The experience ${repeated?.uid ?? ''} is stored already, or twice in one result; expected every uid to be new, because nothing may be trained twice. Nothing of this task was stored. Give each experience its own eid (batch/task/run/step/suffix).`,
    { code: 'BUFFER_DUPLICATE' },
  );
}

async function insertAwaited(
  { run, calendar }: RunContext,
  db: Connection,
  all: readonly Placed[],
): Promise<void> {
  const since = calendar();
  const rows = all.flatMap(({ batch, awaits }) =>
    awaits.map((run_key) => ({ run, run_key, batch, since })),
  );
  for (const chunk of chunksOf(rows)) await db.insertInto('awaited').values(chunk).execute();
}
