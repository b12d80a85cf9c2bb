/** Creates the tables of schema version 1. */
import { sql, type CreateTableBuilder, type Kysely } from 'kysely';
import { taskState, type Tables } from './tables.js';

type AnyTable = CreateTableBuilder<string, string>;

export async function createTables(database: Kysely<Tables>, kind: Kind): Promise<void> {
  const types = typesOf(kind);
  const table = (name: string, key: readonly string[]): AnyTable => {
    const created: AnyTable = database.schema
      .createTable(name)
      .addColumn('run', 'integer', (c) => c.notNull());
    return created.addPrimaryKeyConstraint(`${name}_key`, key as ['run']);
  };
  await createRuns(database, types);
  await integers(table('batch', ['run', 'id']), ['id', 'step', 'is_eval', 'open'])
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('version', 'integer')
    .addColumn('completed', 'integer')
    .addColumn('is_cut', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('is_pruned', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await integers(table('task', ['run', 'batch', 'task']), ['batch', 'task', 'step', 'row_number'])
    .addColumn('taskset', 'text', (c) => c.notNull())
    .addColumn('state', 'integer', (c) => c.notNull().defaultTo(taskState.open))
    .addColumn('owner', 'integer')
    .addColumn('lease_call', 'integer')
    .addColumn('explorer', 'text')
    .addColumn('outcome', 'text')
    .addColumn('checksum', 'bigint')
    .addColumn('done_at', types.time)
    .execute();
  const lateKey = ['batch', 'task', 'epoch'];
  await integers(table('late', ['run', ...lateKey]), lateKey).execute();
  await integers(table('experience', ['run', 'uid']), ['batch', 'task', 'place', 'policy_version'])
    .addColumn('uid', 'text', (c) => c.notNull())
    .addColumn('bytes', types.bytes, (c) => c.notNull())
    .addColumn('checksum', 'bigint', (c) => c.notNull())
    .execute();
  await integers(table('awaited', ['run', 'run_key']), ['batch'])
    .addColumn('run_key', 'text', (c) => c.notNull())
    .addColumn('since', types.time, (c) => c.notNull())
    .execute();
  await integers(table('reward', ['run', 'run_key']), ['batch'])
    .addColumn('run_key', 'text', (c) => c.notNull())
    .addColumn('value', types.time)
    .addColumn('checksum', 'bigint', (c) => c.notNull())
    .execute();
  await integers(table('train_step', ['run', 'train_step']), ['train_step', 'epoch'])
    .addColumn('checksum', 'bigint', (c) => c.notNull())
    .addColumn('at', types.time, (c) => c.notNull())
    .execute();
  const useKey = ['train_step', 'place'];
  await integers(table('use', ['run', ...useKey]), [...useKey, 'is_kept'])
    .addColumn('uid', 'text', (c) => c.notNull())
    .addColumn('reason', 'text')
    .execute();
  await integers(table('weights', ['run', 'version', 'boundary']), [
    'version',
    'boundary',
    'explored_up_to',
  ])
    .addColumn('location', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('probe', 'text', (c) => c.notNull())
    .execute();
  await integers(table('file', ['run', 'version', 'path', 'chunk']), ['version', 'chunk'])
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('bytes', types.bytes, (c) => c.notNull())
    .addColumn('checksum', 'bigint', (c) => c.notNull())
    .execute();
  await createIndices(database);
}

const typesOf = (kind: Kind) => ({
  id: kind === 'sqlite' ? sql`integer` : sql`serial`,
  bytes: kind === 'sqlite' ? sql`blob` : sql`bytea`,
  time: sql`double precision`,
});

function integers(table: AnyTable, names: readonly string[]): AnyTable {
  let result = table;
  for (const name of names) result = result.addColumn(name, 'integer', (c) => c.notNull());
  return result;
}

async function createRuns(
  database: Kysely<Tables>,
  types: ReturnType<typeof typesOf>,
): Promise<void> {
  let run: AnyTable = database.schema
    .createTable('run')
    .addColumn('id', types.id, (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull().unique());
  const counters = [
    'epoch',
    'planned_step',
    'planner',
    'is_last',
    'batches',
    'completed',
    'pruned_step',
  ];
  for (const name of [...counters, 'pruned_trained'])
    run = run.addColumn(name, 'integer', (c) => c.notNull().defaultTo(0));
  await run
    .addColumn('feed', 'text')
    .addColumn('feed_checksum', 'bigint')
    .addColumn('end_step', 'integer')
    .addColumn('pruned_discarded', 'text', (c) => c.notNull().defaultTo('{}'))
    .execute();
  const member: AnyTable = database.schema
    .createTable('member')
    .addColumn('run', 'integer', (c) => c.notNull());
  await integers(member, ['epoch', 'pid'])
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('token', 'text', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('beat_at', types.time, (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('delivery', 'text')
    .addColumn('agreement', 'text')
    .addColumn('lease_calls', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('member_key', ['run', 'name'])
    // Makes the epoch a key. In PostgreSQL, a change of the epoch then waits for transactions that
    // have locked the row FOR KEY SHARE (see assertMember). A heartbeat does not wait for them.
    .addUniqueConstraint('member_epoch', ['run', 'epoch'])
    .execute();
}

async function createIndices(database: Kysely<Tables>): Promise<void> {
  const index = (name: string) => database.schema.createIndex(name);
  await index('batch_name').on('batch').columns(['run', 'name']).unique().execute();
  await index('batch_completed')
    .on('batch')
    .columns(['run', 'completed'])
    .where(sql`completed`, 'is not', null)
    .execute();
  await index('task_open')
    .on('task')
    .columns(['run', 'batch', 'task'])
    .where(sql.ref('state'), '=', sql.lit(taskState.open))
    .execute();
  await index('task_leased')
    .on('task')
    .columns(['run', 'owner'])
    .where(sql.ref('state'), '=', sql.lit(taskState.leased))
    .execute();
  await index('task_done').on('task').columns(['run', 'done_at']).execute();
  await index('experience_place')
    .on('experience')
    .columns(['run', 'batch', 'task', 'place'])
    .unique()
    .execute();
  // An experience is used up at most once.
  await index('use_once')
    .on('use')
    .columns(['run', 'uid'])
    .unique()
    .where(sql.ref('is_kept'), '=', sql.lit(0))
    .execute();
  await index('use_uid').on('use').columns(['run', 'uid']).execute();
}

/** Kind of database, which determines the column types. */
export type Kind = 'sqlite' | 'postgres';
