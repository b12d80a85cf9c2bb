import { sql } from 'kysely';
import { chunksOf, type Connection, type RunContext } from './context.js';
import { countGone, type Gone } from './gone.js';

/**
 * Deletes experiences that are no longer needed, and the records of train steps up to `trainStep`.
 * A batch is deleted if it is complete, and if train steps up to `trainStep` have consumed all of
 * its experiences so that none may be used again. The numbers of deleted experiences are kept.
 */
export async function prune(context: RunContext, db: Connection, trainStep: number): Promise<void> {
  const { run } = context;
  for (const batch of await usedUpBatches(context, db, trainStep)) await empty(context, db, batch);
  await db
    .deleteFrom('train_step')
    .where('run', '=', run)
    .where('train_step', '<=', trainStep)
    .execute();
  await db
    .updateTable('run')
    .set({ pruned_step: trainStep })
    .where('id', '=', run)
    .where('pruned_step', '<', trainStep)
    .execute();
}

async function usedUpBatches(
  { run }: RunContext,
  db: Connection,
  trainStep: number,
): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    SELECT batch.id FROM batch
    WHERE batch.run = ${run} AND batch.completed IS NOT NULL AND batch.is_pruned = 0
      AND NOT EXISTS (
        SELECT 1 FROM experience
        WHERE experience.run = batch.run AND experience.batch = batch.id
          AND NOT EXISTS (
            SELECT 1 FROM use
            WHERE use.run = experience.run AND use.uid = experience.uid
              AND use.is_kept = 0 AND use.train_step <= ${trainStep}
          )
      )`.execute(db);
  return rows.map(({ id }) => id);
}

async function empty(context: RunContext, db: Connection, batch: number): Promise<void> {
  const { run } = context;
  const gone = await db
    .deleteFrom('experience')
    .where('run', '=', run)
    .where('batch', '=', batch)
    .returning('uid')
    .execute();
  for (const chunk of chunksOf(gone)) {
    const uses = await db
      .deleteFrom('use')
      .where('run', '=', run)
      .where(
        'uid',
        'in',
        chunk.map(({ uid }) => uid),
      )
      .returning(['reason', 'is_kept'])
      .execute();
    await countGone(context, db, tally(uses));
  }
  await db
    .updateTable('batch')
    .set({ is_pruned: 1 })
    .where('run', '=', run)
    .where('id', '=', batch)
    .execute();
}

function tally(uses: readonly { reason: string | null; is_kept: number }[]): Gone {
  const discarded: Record<string, number> = {};
  let trained = 0;
  for (const { reason, is_kept: isKept } of uses) {
    if (isKept === 1) continue;
    if (reason === null) trained += 1;
    else discarded[reason] = (discarded[reason] ?? 0) + 1;
  }
  return { trained, discarded };
}
