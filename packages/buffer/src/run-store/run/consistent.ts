/**
 * Checks that stored counts and checksums match the rows from which they were computed. A mismatch
 * means that another program has changed the store.
 */
import type { BufferError } from '@trinity-rft/core';
import { sql } from 'kysely';
import { taskState, type BatchRow, type TaskTableRow } from '../database/tables.js';
import { assertChecksum, damaged, textChecksum } from '../database/checksums.js';
import type { Connection, RunContext } from './context.js';

type Plan = Pick<BatchRow, 'name' | 'step' | 'is_eval' | 'version'>;
type PlannedTask = Pick<TaskTableRow, 'task' | 'taskset' | 'row_number'>;

/** Columns of a batch that {@link assertPlanned} reads, and the batch's id. */
export const planColumns = ['id', 'name', 'step', 'is_eval', 'version', 'checksum'] as const;

/**
 * Returns the checksum of a batch's plan: the properties of the batch that never change, and its
 * tasks.
 * @param tasks the batch's tasks in ascending order of `task`
 */
export const planChecksum = (batch: Plan, tasks: readonly PlannedTask[]): number =>
  textChecksum(
    ...[batch.name, batch.step, batch.is_eval, String(batch.version)],
    ...tasks.flatMap(({ task, taskset, row_number: row }) => [task, taskset, row]),
  );

/**
 * Compares a batch and its tasks with the checksum of the plan.
 * @throws BufferError if the batch or one of its tasks differs from its plan
 */
export function assertPlanned(
  batch: Plan & Pick<BatchRow, 'checksum'>,
  tasks: readonly PlannedTask[],
): void {
  // A batch that an earlier version planned has no checksum.
  if (batch.checksum === null) return;
  assertChecksum(batch.checksum, planChecksum(batch, tasks), `The plan of batch ${batch.name}`);
}

interface Counts {
  readonly batches: number;
  readonly last_batch: number;
  readonly all_batches: number;
  readonly completed: number;
  readonly last_completed: number;
  readonly all_completed: number;
  /**
   * Name of a batch with a wrong number of open tasks; null if there is none. `misplaced` likewise
   * names a batch that is complete although it has open tasks, or incomplete although it has none.
   */
  readonly miscounted: string | null;
  readonly misplaced: string | null;
}

/**
 * Compares the counters of the training run with its rows, and incomplete batches with their plans.
 * @throws BufferError naming what differs
 */
export async function assertConsistent(context: RunContext, db: Connection): Promise<void> {
  const { run } = context;
  const done = sql.lit(taskState.done);
  // A single statement reads one consistent snapshot.
  const { rows } = await sql<Counts>`
    SELECT run.batches, run.completed,
      (SELECT coalesce(max(id), 0) FROM batch WHERE batch.run = run.id) AS last_batch,
      (SELECT count(*) FROM batch WHERE batch.run = run.id) AS all_batches,
      (SELECT coalesce(max(completed), 0) FROM batch WHERE batch.run = run.id) AS last_completed,
      (SELECT count(DISTINCT completed) FROM batch WHERE batch.run = run.id) AS all_completed,
      (SELECT min(name) FROM batch WHERE batch.run = run.id AND open <> (
        SELECT count(*) FROM task
        WHERE task.run = run.id AND task.batch = batch.id AND task.state <> ${done}
      )) AS miscounted,
      (SELECT min(name) FROM batch
        WHERE batch.run = run.id AND (completed IS NULL) <> (open > 0)) AS misplaced
    FROM run WHERE run.id = ${run}`.execute(db);
  const [found] = rows;
  if (!found) return;
  const agree = (count: number, last: number, all: number): boolean =>
    count === last && count === Number(all);
  if (!agree(found.batches, found.last_batch, found.all_batches))
    throw changed('number of batches');
  if (!agree(found.completed, found.last_completed, found.all_completed))
    throw changed('number of complete batches');
  const batch = found.miscounted ?? found.misplaced;
  if (batch !== null) throw changed(`number of open tasks of batch ${batch}`);
  await assertOpenBatches(context, db);
}

async function assertOpenBatches({ run }: RunContext, db: Connection): Promise<void> {
  const batches = await db
    .selectFrom('batch')
    .select(planColumns)
    .where('run', '=', run)
    .where('completed', 'is', null)
    .execute();
  for (const batch of batches) assertPlanned(batch, await tasksOf(run, db, batch.id));
}

const tasksOf = (run: number, db: Connection, batch: number): Promise<PlannedTask[]> =>
  db
    .selectFrom('task')
    .select(['task', 'taskset', 'row_number'])
    .where('run', '=', run)
    .where('batch', '=', batch)
    .orderBy('task')
    .execute();

const changed = (what: string): BufferError =>
  damaged(`The ${what} of the run is not that of its rows`);
