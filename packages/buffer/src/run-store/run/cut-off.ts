/** Cuts off explore steps, so that they no longer wait for their unfinished tasks. */
import type { RunStore } from '@trinity-rft/core/store';
import { sql } from 'kysely';
import { taskState } from '../database/tables.js';
import { countDown } from './completion.js';
import { isAlive, locked, writeAs, type Connection, type RunContext } from './context.js';
import { describe, taskColumns } from './leases.js';

export function cutOffs(
  context: RunContext,
): Pick<RunStore, 'countDoneTasks' | 'cutOffBatch' | 'cutOffTasks'> {
  const { database, run } = context;
  return {
    countDoneTasks: (name) =>
      database.read('count the tasks that are done', async (db) => {
        const { done } = await db
          .selectFrom('task')
          .innerJoin('batch', (on) =>
            on.onRef('batch.run', '=', 'task.run').onRef('batch.id', '=', 'task.batch'),
          )
          .select((eb) => eb.fn.countAll<number>().as('done'))
          .where('batch.run', '=', run)
          .where('batch.name', '=', name)
          .where('task.state', '=', taskState.done)
          .executeTakeFirstOrThrow();
        return done;
      }),
    cutOffBatch: (member, name) =>
      writeAs(context, member, 'cut the tasks of a batch off', (db) => cutOff(context, db, name)),
    cutOffTasks: (member) =>
      database.read('read which tasks are cut off', async (db) => {
        const rows = await db
          .selectFrom('task')
          .innerJoin('batch', (on) =>
            on.onRef('batch.run', '=', 'task.run').onRef('batch.id', '=', 'task.batch'),
          )
          .select(taskColumns)
          .where('task.run', '=', run)
          .where('task.state', '=', sql.lit(taskState.leased))
          .where('task.owner', '=', member.epoch)
          .where('batch.is_cut', '=', 1)
          .execute();
        return describe(context, db, rows);
      }),
  };
}

async function cutOff(context: RunContext, db: Connection, name: string): Promise<void> {
  const { run, database } = context;
  const batch = await locked(
    context,
    db.selectFrom('batch').select('id').where('run', '=', run).where('name', '=', name),
  ).executeTakeFirst();
  if (!batch) return;
  const { id } = batch;
  await db
    .updateTable('batch')
    .set({ is_cut: 1 })
    .where('run', '=', run)
    .where('id', '=', id)
    .execute();
  const silent = db
    .selectFrom('member')
    .select(sql<number>`abs(epoch)`.as('epoch'))
    .where('run', '=', run)
    .where(sql<boolean>`NOT ${isAlive(context)}`);
  const cut = await db
    .updateTable('task')
    .set({ state: taskState.done, owner: null, done_at: database.now() })
    .where('run', '=', run)
    .where('batch', '=', id)
    .where((eb) =>
      eb.or([
        eb('state', '=', taskState.open),
        eb.and([eb('state', '=', taskState.leased), eb('owner', 'in', silent)]),
      ]),
    )
    .returning('task')
    .execute();
  if (cut.length > 0) await countDown(context, db, { id, open: -cut.length });
}
