/** Rewards that arrive minutes or days after their runs. */
import { BufferError } from '@trinity-rft/core';
import type { RewardReceipt, RunStore } from '@trinity-rft/core/store';
import { assertChecksum, textChecksum } from '../database/checksums.js';
import { assertMember, chunksOf, locked, type Connection, type RunContext } from './context.js';

export function rewards(
  context: RunContext,
): Pick<RunStore, 'reward' | 'rewardsOf' | 'awaitedRuns' | 'giveUpRewards'> {
  const { database, run } = context;
  return {
    reward: async (runKey, value) => {
      if (!Number.isFinite(value)) throw notANumber(runKey, value);
      return database.write('store a reward', (db) => settle(context, db, runKey, value));
    },
    rewardsOf: (runKeys) =>
      database.read('read rewards', async (db) => {
        const found = new Map<string, number>();
        for (const chunk of chunksOf(runKeys))
          for (const [key, value] of await rewardsIn(context, db, chunk)) found.set(key, value);
        return found;
      }),
    awaitedRuns: () =>
      database.read('read which rewards are to come', async (db) => {
        const rows = await db
          .selectFrom('awaited')
          .select(['run_key', 'since'])
          .where('run', '=', run)
          .orderBy('since')
          .orderBy('run_key')
          .execute();
        const now = context.calendar();
        return rows.map(({ run_key: runKey, since }) => ({
          runKey,
          forMs: Math.max(0, now - since),
        }));
      }),
    giveUpRewards: (member, runKeys) =>
      database.write('give up rewards', async (db) => {
        await assertMember(context, db, member);
        for (const runKey of runKeys) await settle(context, db, runKey, null);
      }),
  };
}

async function rewardsIn(
  { run }: RunContext,
  db: Connection,
  runKeys: readonly string[],
): Promise<readonly (readonly [string, number])[]> {
  const rows = await db
    .selectFrom('reward')
    .select(['run_key', 'value', 'checksum'])
    .where('run', '=', run)
    .where('run_key', 'in', runKeys)
    .execute();
  return rows.flatMap(({ run_key: key, value, checksum }) => {
    assertChecksum(checksum, rewardChecksum(key, value), `The reward of ${key}`);
    return value === null ? [] : [[key, value] as const];
  });
}

/** @param value null if the wait for the reward is given up */
async function settle(
  context: RunContext,
  db: Connection,
  runKey: string,
  value: number | null,
): Promise<RewardReceipt> {
  const { run } = context;
  const awaited = await locked(
    context,
    db.selectFrom('awaited').select('batch').where('run', '=', run).where('run_key', '=', runKey),
  ).executeTakeFirst();
  if (!awaited) {
    const known = await db
      .selectFrom('reward')
      .select('value')
      .where('run', '=', run)
      .where('run_key', '=', runKey)
      .executeTakeFirst();
    if (!known) return 'unknown';
    return known.value === value ? 'stored' : 'late';
  }
  await db.deleteFrom('awaited').where('run', '=', run).where('run_key', '=', runKey).execute();
  await db
    .insertInto('reward')
    .values({
      run,
      run_key: runKey,
      batch: awaited.batch,
      value,
      checksum: rewardChecksum(runKey, value),
    })
    .execute();
  return 'stored';
}

const rewardChecksum = (runKey: string, value: number | null): number =>
  textChecksum(runKey, String(value));

const notANumber = (runKey: string, value: number): BufferError =>
  new BufferError(`The reward of run ${runKey} is ${value}; expected a finite number.`, {
    code: 'REWARD_NOT_FINITE',
  });
