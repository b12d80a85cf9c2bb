/** Reads the progress of a training run from one consistent snapshot. */
import type {
  Delivery,
  LeasedTask,
  MemberRole,
  MemberState,
  MemberView,
  RunView,
} from '@trinity-rft/core/store';
import { sql } from 'kysely';
import { taskState } from '../database/tables.js';
import { isAlive, type Connection, type RunContext } from './context.js';
import { goneOf, sumOf } from './gone.js';
import { describe, taskColumns } from './leases.js';
import { newest } from './weights.js';

export async function view(context: RunContext, db: Connection): Promise<RunView> {
  const { run, database } = context;
  const row = await db
    .selectFrom('run')
    .select(['planned_step', 'pruned_step', 'end_step'])
    .where('id', '=', run)
    .executeTakeFirstOrThrow();
  const { step } = await db
    .selectFrom('train_step')
    .select((eb) => eb.fn.max<number | null>('train_step').as('step'))
    .where('run', '=', run)
    .executeTakeFirstOrThrow();
  return {
    members: await membersOf(context, db),
    tasks: await taskCounts(context, db),
    lastMinute: await lastMinute(context, db),
    leases: await leasesOf(context, db),
    lateResults: await countOf(context, db, 'late'),
    experiences: await experienceCounts(context, db),
    awaitedRuns: await countOf(context, db, 'awaited'),
    sizeBytes: await database.sizeBytes(db),
    plannedUpTo: row.planned_step,
    trainStep: Math.max(row.pruned_step, step ?? 0),
    published: await newest(context, db),
    end: row.end_step === null ? undefined : { trainStep: row.end_step },
  };
}

/** Counts the rows of the training run in a table. */
async function countOf(
  { run }: RunContext,
  db: Connection,
  table: 'late' | 'awaited' | 'experience',
): Promise<number> {
  const { count } = await db
    .selectFrom(table)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('run', '=', run)
    .executeTakeFirstOrThrow();
  return count;
}

async function membersOf(context: RunContext, db: Connection): Promise<readonly MemberView[]> {
  const rows = await db
    .selectFrom('member')
    .selectAll()
    .select(isAlive(context).as('alive'))
    .select(sql<number>`${context.database.now()} - beat_at`.as('silent'))
    .where('run', '=', context.run)
    .orderBy('name')
    .execute();
  return rows.map((row) => ({
    role: row.role as MemberRole,
    name: row.name,
    host: row.host,
    pid: row.pid,
    epoch: Math.abs(row.epoch),
    isAlive: Boolean(row.alive),
    hasLeft: row.epoch < 0,
    silentForMs: Math.max(0, row.silent),
    ...(JSON.parse(row.state) as MemberState),
    delivery: row.delivery === null ? undefined : (JSON.parse(row.delivery) as Delivery),
  }));
}

async function taskCounts({ run }: RunContext, db: Connection): Promise<RunView['tasks']> {
  const rows = await db
    .selectFrom('task')
    .select((eb) => ['state', eb.fn.countAll<number>().as('count')])
    .where('run', '=', run)
    .groupBy('state')
    .execute();
  const of = (state: number): number => rows.find((row) => row.state === state)?.count ?? 0;
  return { open: of(taskState.open), leased: of(taskState.leased), done: of(taskState.done) };
}

/**
 * Counts the tasks and train steps of the last minute. Ignores times in the future: they were
 * stored before a restart of the machine, which resets the clock.
 */
async function lastMinute(
  { run, database }: RunContext,
  db: Connection,
): Promise<RunView['lastMinute']> {
  const { rows } = await sql<RunView['lastMinute']>`
    SELECT
      (SELECT count(*) FROM task WHERE run = ${run}
        AND done_at BETWEEN ${database.now()} - 60000 AND ${database.now()}) AS tasks,
      (SELECT count(*) FROM train_step WHERE run = ${run}
        AND at BETWEEN ${database.now()} - 60000 AND ${database.now()}) AS "trainSteps"`.execute(
    db,
  );
  return rows[0] ?? { tasks: 0, trainSteps: 0 };
}

async function leasesOf(
  context: RunContext,
  db: Connection,
): Promise<readonly (LeasedTask & { readonly explorer: string })[]> {
  const rows = await db
    .selectFrom('task')
    .innerJoin('member', (on) =>
      on.onRef('member.run', '=', 'task.run').onRef('member.epoch', '=', 'task.owner'),
    )
    .select([...taskColumns, 'member.name as explorer'])
    .where('task.run', '=', context.run)
    .where('task.state', '=', sql.lit(taskState.leased))
    .execute();
  return describe(context, db, rows);
}

async function experienceCounts(
  context: RunContext,
  db: Connection,
): Promise<RunView['experiences']> {
  const gone = await goneOf(context, db);
  const count = await countOf(context, db, 'experience');
  const uses = await db
    .selectFrom('use')
    .select((eb) => ['reason', eb.fn.countAll<number>().as('count')])
    .where('run', '=', context.run)
    .where('is_kept', '=', 0)
    .groupBy('reason')
    .execute();
  const trained = uses.find(({ reason }) => reason === null)?.count ?? 0;
  const discarded = Object.fromEntries(
    uses.flatMap((use) => (use.reason === null ? [] : [[use.reason, use.count] as const])),
  );
  const used = uses.reduce((sum, use) => sum + use.count, 0);
  const goneCount = gone.trained + Object.values(gone.discarded).reduce((a, b) => a + b, 0);
  return {
    total: count + goneCount,
    waiting: count - used,
    oldestVersion: count > used ? await oldestVersion(context, db) : undefined,
    trained: trained + gone.trained,
    discarded: sumOf(discarded, gone.discarded),
  };
}

/** Returns the oldest policy version of the experiences that no train step has consumed. */
async function oldestVersion({ run }: RunContext, db: Connection): Promise<number | undefined> {
  const { rows } = await sql<{ oldest: number | null }>`
    SELECT min(policy_version) AS oldest FROM experience
    WHERE run = ${run} AND NOT EXISTS (
      SELECT 1 FROM use
      WHERE use.run = experience.run AND use.uid = experience.uid AND use.is_kept = 0
    )`.execute(db);
  return rows[0]?.oldest ?? undefined;
}
