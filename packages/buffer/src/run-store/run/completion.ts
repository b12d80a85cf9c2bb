/**
 * Determines when a batch is complete, and assigns complete batches their position in the order of
 * completion.
 */
import type { Connection, RunContext } from './context.js';

export interface BatchCounts {
  readonly id: number;
  readonly open: number;
}

/**
 * Adds `by.open`, which is negative, to the number of tasks that a batch waits for. If the number
 * becomes 0, completes the batch.
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
 * Completes a batch if it waits for no more tasks, by assigning it the next position in the order
 * of completion. Locks the counter of the training run until the transaction ends, so that other
 * processes see the positions in ascending order.
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
