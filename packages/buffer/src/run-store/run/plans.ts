/** Plans explore steps, one after the other. */
import type {
  ExplorePlan,
  JsonState,
  Membership,
  PlannedBatch,
  RunStore,
} from '@trinity-rft/core/store';
import { assertChecksum, feedChecksum } from '../database/checksums.js';
import { planChecksum } from './consistent.js';
import { completeIfDone } from './completion.js';
import { chunksOf, locked, writeAs, type Connection, type RunContext } from './context.js';

export function plans(context: RunContext): Pick<RunStore, 'plan' | 'lastPlan'> {
  const { database, run } = context;
  return {
    plan: (member, plan) =>
      writeAs(context, member, 'plan an explore step', (db) => store(context, db, member, plan), {
        notifies: (isPlanned) => isPlanned,
      }),
    lastPlan: () =>
      database.read('read the last plan', async (db) => {
        const row = await db
          .selectFrom('run')
          .select(['planned_step', 'feed', 'feed_checksum', 'is_last'])
          .where('id', '=', run)
          .executeTakeFirst();
        if (row?.feed == null) return undefined;
        const { planned_step: step, feed, feed_checksum: checksum } = row;
        const wanted = feedChecksum(step, feed, row.is_last === 1);
        assertChecksum(checksum, wanted, `The plan of explore step ${step}`);
        return { step, feed: JSON.parse(feed) as JsonState };
      }),
  };
}

async function store(
  context: RunContext,
  db: Connection,
  { epoch }: Membership,
  plan: ExplorePlan,
): Promise<boolean> {
  const { run } = context;
  const row = await locked(
    context,
    db.selectFrom('run').select(['planned_step', 'planner', 'batches']).where('id', '=', run),
  ).executeTakeFirstOrThrow();
  const isNext = row.planned_step === plan.step - 1;
  if (plan.step > row.planned_step + 1) return false;
  const fresh = isNext ? plan.batches : await unplanned(context, db, plan.batches);
  // A member repeats the plan of its own step if the response to its first call was lost.
  if (!isNext && fresh.length === 0) return row.planned_step === plan.step && row.planner === epoch;
  const feed = JSON.stringify(plan.feed);
  const next = {
    planned_step: plan.step,
    planner: epoch,
    feed,
    feed_checksum: feedChecksum(plan.step, feed, false),
    is_last: 0,
  };
  await db
    .updateTable('run')
    .set({ ...(isNext ? next : {}), batches: row.batches + fresh.length })
    .where('id', '=', run)
    .execute();
  for (const [i, batch] of fresh.entries())
    await storeBatch(context, db, { ...batch, id: row.batches + 1 + i });
  return true;
}

async function unplanned(
  { run }: RunContext,
  db: Connection,
  batches: readonly PlannedBatch[],
): Promise<readonly PlannedBatch[]> {
  if (batches.length === 0) return [];
  const names = batches.map(({ batch }) => batch);
  const planned = await db
    .selectFrom('batch')
    .select('name')
    .where('run', '=', run)
    .where('name', 'in', names)
    .execute();
  const known = new Set(planned.map(({ name }) => name));
  return batches.filter(({ batch }) => !known.has(batch));
}

async function storeBatch(
  context: RunContext,
  db: Connection,
  batch: PlannedBatch & { readonly id: number },
): Promise<void> {
  const { run } = context;
  const { id, step, tasks } = batch;
  const rows = tasks.map(({ task, taskset, row }) => ({
    run,
    batch: id,
    task,
    step,
    taskset,
    row_number: row,
  }));
  const plan = {
    name: batch.batch,
    step,
    is_eval: Number(batch.isEval),
    version: batch.version ?? null,
  };
  const checksum = planChecksum(
    plan,
    rows.toSorted((a, b) => a.task - b.task),
  );
  await db
    .insertInto('batch')
    .values({ run, id, ...plan, open: tasks.length, completed: null, checksum })
    .execute();
  for (const chunk of chunksOf(rows)) await db.insertInto('task').values(chunk).execute();
  await completeIfDone(context, db, { id, open: tasks.length });
}
