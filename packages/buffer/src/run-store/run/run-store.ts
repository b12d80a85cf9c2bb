/** Creates the run store of one training run in a database. */
import { type Clock, systemClock } from '@trinity-rft/core';
import type { RunStore } from '@trinity-rft/core/store';
import type { RunDatabase } from '../database/run-database.js';
import { batches } from './batches.js';
import { writeAs, type Connection, type RunClaim, type RunContext } from './context.js';
import { cutOffs } from './cut-off.js';
import { admit } from './identity.js';
import { leases } from './leases.js';
import { members } from './members.js';
import { plans } from './plans.js';
import { results } from './results.js';
import { rewards } from './rewards.js';
import { trainSteps } from './train-steps.js';
import { view } from './view.js';
import { waiting } from './waiting.js';
import { weights } from './weights.js';

const defaultLeaseMs = 15_000;

export interface RunStoreOptions {
  /** Name of the training run, which is unique in the database. */
  readonly run: string;
  /** Milliseconds without a heartbeat after which a worker is considered dead. @default 15_000 */
  readonly leaseMs?: number;
  /**
   * Clock by which waits time out and the age of pending rewards is computed.
   * @default the system clock
   */
  readonly clock?: Pick<Clock, 'now' | 'after'>;
  /** Expected identity of the training run. @default undefined: the identity is not checked */
  readonly claim?: RunClaim;
}

/**
 * Creates the run store. Creates the training run if the database does not contain it.
 * @param close called when the store is closed. @default no callback, so that the database stays
 * open
 * @throws ConfigError if the name belongs to another training run than the claim expects
 */
export async function runStore(
  database: RunDatabase,
  { run: name, leaseMs = defaultLeaseMs, clock = systemClock, claim }: RunStoreOptions,
  close: () => Promise<void> = async () => undefined,
): Promise<RunStore> {
  const calendar = (): number => clock.now();
  const run = await claimedRun({ database, leaseMs, calendar, claim }, name);
  const context: RunContext = { database, run, leaseMs, calendar, claim };
  const waits = waiting(database, clock);
  return {
    ...members(context),
    ...plans(context),
    ...leases(context),
    ...cutOffs(context),
    ...results(context),
    ...rewards(context),
    ...batches(context),
    ...trainSteps(context),
    ...weights(context),
    finishRun: (member, { trainStep }) =>
      writeAs(context, member, 'record the end of the run', async (db) => {
        await db.updateTable('run').set({ end_step: trainStep }).where('id', '=', run).execute();
      }),
    view: () => database.read('read the state of the run', (db) => view(context, db)),
    waitForChange: waits.waitForChange,
    close: async () => {
      waits.close();
      await close();
    },
  };
}

/** Returns read-only access to a training run, or undefined if the database does not contain it. */
export async function runView(
  database: RunDatabase,
  { run: name, leaseMs = defaultLeaseMs, clock = systemClock }: RunStoreOptions,
): Promise<Pick<RunStore, 'view'> | undefined> {
  const known = await database.read('find the run', (db) => knownRun(db, name));
  if (known === undefined) return undefined;
  const calendar = (): number => clock.now();
  return {
    view: () =>
      database.read('read the state of the run', async (db) => {
        // A new run of this name may have set the earlier one aside.
        const run = (await knownRun(db, name)) ?? known;
        return view({ database, run, leaseMs, calendar }, db);
      }),
  };
}

async function knownRun(db: Connection, name: string): Promise<number | undefined> {
  const row = await db.selectFrom('run').select('id').where('name', '=', name).executeTakeFirst();
  return row?.id;
}

/**
 * Returns the id of the training run. Creates the training run if it does not exist, or if the
 * claim has set the existing one aside.
 */
const claimedRun = (context: Omit<RunContext, 'run'>, name: string): Promise<number> =>
  context.database.write(
    'find the run',
    async (db) => {
      const { claim } = context;
      const run = (await knownRun(db, name)) ?? (await create(db, name));
      if (claim === undefined || (await admit({ ...context, run }, db, claim)) === 'admitted')
        return run;
      const fresh = await create(db, name);
      await admit({ ...context, run: fresh }, db, claim);
      return fresh;
    },
    { notifies: () => false },
  );

async function create(db: Connection, name: string): Promise<number> {
  const { id } = await db
    .insertInto('run')
    .values({ name })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ name }))
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
