/** Reads the numbers of experiences that have been deleted. */
import { locked, type Connection, type RunContext } from './context.js';

export interface Gone {
  readonly trained: number;
  /** Number of discarded experiences, keyed by reason. */
  readonly discarded: Readonly<Record<string, number>>;
}

export async function goneOf(context: RunContext, db: Connection): Promise<Gone> {
  const row = await db
    .selectFrom('run')
    .select(['pruned_trained', 'pruned_discarded'])
    .where('id', '=', context.run)
    .executeTakeFirstOrThrow();
  return {
    trained: row.pruned_trained,
    discarded: JSON.parse(row.pruned_discarded) as Gone['discarded'],
  };
}

export async function countGone(context: RunContext, db: Connection, more: Gone): Promise<void> {
  const { run } = context;
  await locked(context, db.selectFrom('run').select('id').where('id', '=', run)).execute();
  const gone = await goneOf(context, db);
  await db
    .updateTable('run')
    .set({
      pruned_trained: gone.trained + more.trained,
      pruned_discarded: JSON.stringify(sumOf(gone.discarded, more.discarded)),
    })
    .where('id', '=', run)
    .execute();
}

type Counts = Readonly<Record<string, number>>;

export function sumOf(a: Counts, b: Counts): Counts {
  const sum = new Map(Object.entries(a));
  for (const [name, count] of Object.entries(b))
    if (count > 0) sum.set(name, (sum.get(name) ?? 0) + count);
  return Object.fromEntries(sum);
}
