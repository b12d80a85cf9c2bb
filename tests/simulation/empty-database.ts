/** In-memory database that all simulations of this process share, so that its statements stay prepared. */
import type { RunDatabase } from '../../packages/buffer/src/run-store/database/run-database.ts';
import { memoryDatabase } from '../../packages/buffer/src/run-store/database/sqlite.ts';
import type { Tables } from '../../packages/buffer/src/run-store/database/tables.ts';

const tables: Readonly<Record<keyof Tables, true>> = {
  run: true,
  member: true,
  batch: true,
  task: true,
  late: true,
  experience: true,
  awaited: true,
  reward: true,
  train_step: true,
  use: true,
  weights: true,
  file: true,
};

let clock = (): number => 0;
let opened: Promise<RunDatabase> | undefined;

/**
 * Empties the database.
 * @param now the clock for leases from now on
 */
export async function emptyDatabase(now: () => number): Promise<RunDatabase> {
  clock = now;
  opened ??= memoryDatabase(() => clock());
  const database = await opened;
  await database.write('empty the tables', async (db) => {
    for (const name of Object.keys(tables) as (keyof Tables)[]) await db.deleteFrom(name).execute();
  });
  return database;
}
