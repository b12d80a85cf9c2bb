/** Stores rewards that arrive minutes or days after their rollouts. */
import { isUsableReward } from '@trinity-rft/core';
import type { RewardReceipt, RunStore } from '@trinity-rft/core/store';
import { assertChecksum, textChecksum } from '../database/checksums.js';
import { chunksOf, locked, writeAs, type Connection, type RunContext } from './context.js';

export function rewards(context: RunContext): Pick<RunStore, 'reward' | 'takeRewards'> {
  const { database } = context;
  return {
    reward: async (runKey, value) =>
      isUsableReward(value)
        ? database.write('store a reward', (db) => settle(context, db, runKey, value))
        : 'unusable',
    takeRewards: async (member, waiting, step) => {
      const { found, over } = await database.read('read rewards', async (db) => ({
        found: await rewardsIn(context, db, waiting),
        over: await awaitedBeside(context, db, waiting, step),
      }));
      if (over.length > 0)
        await writeAs(context, member, 'give up rewards', async (db) => {
          for (const runKey of over) await settle(context, db, runKey, null);
        });
      return found;
    },
  };
}

/**
 * Returns the rollouts up to explore step `step` that wait for a reward, except those in `waiting`.
 */
async function awaitedBeside(
  { run }: RunContext,
  db: Connection,
  waiting: readonly string[],
  step: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('awaited')
    .select('run_key')
    .where('run', '=', run)
    .orderBy('run_key')
    .execute();
  const others = new Set(waiting);
  return rows
    .map(({ run_key: key }) => key)
    .filter((key) => Number.parseInt(key, 10) <= step && !others.has(key));
}

async function rewardsIn(
  { run }: RunContext,
  db: Connection,
  runKeys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const chunk of chunksOf(runKeys)) {
    const rows = await db
      .selectFrom('reward')
      .select(['run_key', 'value', 'checksum'])
      .where('run', '=', run)
      .where('run_key', 'in', chunk)
      .execute();
    for (const { run_key: key, value, checksum } of rows) {
      assertChecksum(checksum, rewardChecksum(key, value), `The reward of ${key}`);
      if (value !== null) found.set(key, value);
    }
  }
  return found;
}

/**
 * Stores the reward of a rollout, which ends the wait for it.
 * @param value reward, or null to end the wait without one
 */
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
    if (known.value === null) return 'late';
    return known.value === value ? 'stored' : 'scored';
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
