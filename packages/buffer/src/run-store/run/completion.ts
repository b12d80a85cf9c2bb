/** Determines when a batch is complete, and its position in the order of complete batches. */
import type { Connection, RunContext } from './context.js';

export interface BatchCounts {
  readonly id: number;
  readonly open: number;
}

/**
 * Adds `by.open` to the number of tasks that a batch waits for, and completes the batch if the
 * number is 0.
 */
export async function countDown(
  context: RunContext,
  db: Connection,
  by: BatchCounts,
): Promise<void> {
  const counts = await db
    .updateTable('batch')
    .set((eb) => ({ open: eb('open', '+', by.open) }))
    .where('run', '=', context.run)
    .where('id', '=', by.id)
    .returning(['id', 'open'])
    .executeTakeFirstOrThrow();
  await completeIfDone(context, db, counts);
}

/**
 * Assigns a batch its position in the order of complete batches, if the batch waits for no task.
 * Locks the counter of the training run until the transaction ends, so that positions become
 * visible in order.
 */
export async function completeIfDone(
  { run }: RunContext,
  db: Connection,
  { id, open }: BatchCounts,
): Promise<void> {
  if (open > 0) return;
  const { completed } = await db
    .updateTable('run')
    .set((eb) => ({ completed: eb('completed', '+', 1) }))
    .where('id', '=', run)
    .returning('completed')
    .executeTakeFirstOrThrow();
  await db
    .updateTable('batch')
    .set({ completed })
    .where('run', '=', run)
    .where('id', '=', id)
    .execute();
}
