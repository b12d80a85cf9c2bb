/** Leases tasks to explorers. */
import type { LeasedTask, Membership, RunStore } from '@trinity-rft/core/store';
import { sql } from 'kysely';
import { taskState, type TaskTableRow } from '../database/tables.js';
import { fencedError, isAlive, writeAs, type Connection, type RunContext } from './context.js';

export function leases(context: RunContext): Pick<RunStore, 'leaseTasks' | 'releaseTask'> {
  const { database } = context;
  /**
   * Number of calls by which each membership has leased tasks, keyed by the membership's epoch.
   * Calls that got no task are not counted.
   */
  const answered = new Map<number, number>();
  return {
    leaseTasks: async (member, request) => {
      const call = answered.get(member.epoch) ?? 0;
      const tasks = await database.write(
        'lease tasks',
        (db) => lease(context, db, { ...request, member, call }),
        { isDurable: false, notifies: () => false },
      );
      if (tasks.length > 0) answered.set(member.epoch, call + 1);
      return tasks;
    },
    releaseTask: (member, task) =>
      writeAs(context, member, 'give a task back', async (db) => {
        await db
          .updateTable('task')
          .set({ state: taskState.open, owner: null })
          .where('run', '=', context.run)
          .where('batch', '=', batchId(context, db, task.batch))
          .where('task', '=', task.task)
          .where('state', '=', taskState.leased)
          .where('owner', '=', member.epoch)
          .execute();
      }),
  };
}

const batchId = ({ run }: RunContext, db: Connection, name: string) =>
  db.selectFrom('batch').select('id').where('run', '=', run).where('name', '=', name);

interface Lease {
  readonly member: Membership;
  /** Index of the call: the number of earlier calls by which this membership leased tasks. */
  readonly call: number;
}

type Take = Lease & Parameters<RunStore['leaseTasks']>[1];

/**
 * Leases tasks. If the same call arrives again, for example because its response was lost, returns
 * the same tasks again.
 */
async function lease(
  context: RunContext,
  db: Connection,
  asked: Take,
): Promise<readonly LeasedTask[]> {
  const { member, call } = asked;
  if (call < (await answeredCalls(context, db, member))) return leasedBy(context, db, asked);
  const tasks = await take(context, db, asked);
  if (tasks.length > 0)
    await db
      .updateTable('member')
      .set({ lease_calls: call + 1 })
      .where('run', '=', context.run)
      .where('epoch', '=', member.epoch)
      .execute();
  return tasks;
}

/**
 * Returns the number of calls by which the worker has leased tasks. Locks the worker's row until
 * the transaction ends, so that repetitions of a call are handled one after another.
 */
async function answeredCalls(
  { database, run }: RunContext,
  db: Connection,
  member: Membership,
): Promise<number> {
  const row = await db
    .selectFrom('member')
    .select(['epoch', 'lease_calls'])
    .where('run', '=', run)
    .where('name', '=', member.name)
    .$if(database.kind === 'postgres', (query) => query.forNoKeyUpdate())
    .executeTakeFirst();
  if (row?.epoch !== member.epoch) throw fencedError(member);
  return row.lease_calls;
}

/** Largest integer that a column can hold. Used in place of infinity. */
const largestInteger = 2 ** 31 - 1;

async function take(
  context: RunContext,
  db: Connection,
  { member, call, count, maxStep, weights }: Take,
): Promise<readonly LeasedTask[]> {
  if (count < 1) return [];
  const { run, database } = context;
  const silent = await silentHolders(context, db, member);
  const taken = await db
    .with('picked', (cte) =>
      cte
        .selectFrom('task')
        .select(['batch', 'task'])
        .where('run', '=', run)
        .where((eb) => {
          const isOpen = eb('state', '=', sql.lit(taskState.open));
          if (silent.length === 0) return isOpen;
          const isHeld = eb('state', '=', sql.lit(taskState.leased));
          return eb.or([isOpen, eb.and([isHeld, eb('owner', 'in', silent)])]);
        })
        .where('step', '<=', Math.min(maxStep, largestInteger))
        .where((eb) => {
          if (!weights) return eb.and([]);
          const { version, mayBeNewer } = weights;
          const planned = eb
            .selectFrom('batch')
            .select('id')
            .where('batch.run', '=', run)
            .whereRef('batch.id', '=', 'task.batch')
            .where((of) =>
              of.or([of('version', 'is', null), of('version', mayBeNewer ? '<=' : '=', version)]),
            );
          return eb.exists(planned);
        })
        .orderBy('batch')
        .orderBy('task')
        .limit(Math.min(count, largestInteger))
        .$if(database.kind === 'postgres', (query) => query.forUpdate().skipLocked()),
    )
    .updateTable('task')
    .from('picked')
    .set({ state: taskState.leased, owner: member.epoch, lease_call: call })
    .where('task.run', '=', run)
    .whereRef('task.batch', '=', 'picked.batch')
    .whereRef('task.task', '=', 'picked.task')
    .returning(taskColumns)
    .execute();
  return describe(context, db, taken);
}

/**
 * Returns the epochs of other workers that hold tasks but send no heartbeats. The tasks remain
 * leased to these workers until another explorer leases them.
 */
async function silentHolders(
  context: RunContext,
  db: Connection,
  { epoch }: Membership,
): Promise<readonly number[]> {
  const { run } = context;
  const rows = await db
    .selectFrom('member')
    .select('epoch')
    .where('run', '=', run)
    .where('epoch', '<>', epoch)
    .where(sql<boolean>`NOT ${isAlive(context)}`)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('task')
          .select('task')
          .where('task.run', '=', run)
          .where('state', '=', sql.lit(taskState.leased))
          .whereRef('owner', '=', 'member.epoch'),
      ),
    )
    .execute();
  return rows.map((row) => row.epoch);
}

/** Returns the tasks that an earlier call has leased and that the worker still holds. */
async function leasedBy(
  context: RunContext,
  db: Connection,
  { member, call }: Lease,
): Promise<readonly LeasedTask[]> {
  const rows = await db
    .selectFrom('task')
    .select(taskColumns)
    .where('run', '=', context.run)
    .where('state', '=', sql.lit(taskState.leased))
    .where('owner', '=', member.epoch)
    .where('lease_call', '=', call)
    .execute();
  return describe(context, db, rows);
}

export const taskColumns = ['task.batch', 'task.task', 'task.taskset', 'task.row_number'] as const;

type DescribedRow = Pick<TaskTableRow, 'batch' | 'task' | 'taskset' | 'row_number'>;

/** Converts database rows to tasks, oldest first. Additional columns are kept. */
export async function describe<R extends DescribedRow>(
  { run }: RunContext,
  db: Connection,
  rows: readonly R[],
): Promise<(LeasedTask & Omit<R, 'batch' | 'row_number'>)[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map(({ batch }) => batch))];
  const found = await db
    .selectFrom('batch')
    .select(['id', 'name', 'step', 'is_eval', 'version'])
    .where('run', '=', run)
    .where('id', 'in', ids)
    .execute();
  const batches = new Map(found.map((batch) => [batch.id, batch]));
  const sorted = rows.toSorted((a, b) => a.batch - b.batch || a.task - b.task);
  return sorted.flatMap(({ batch: id, row_number: row, ...rest }) => {
    const batch = batches.get(id);
    if (!batch) return [];
    const { name, step, is_eval: isEval, version } = batch;
    const described = { batch: name, step, isEval: isEval === 1, version: version ?? undefined };
    return [{ ...rest, row, ...described }];
  });
}
