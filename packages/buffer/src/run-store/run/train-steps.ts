/** Writes, reads and deletes the records of train steps. */
import { BufferError } from '@trinity-rft/core';
import type { RunStore, TrainRecord } from '@trinity-rft/core/store';
import type { UseRow } from '../database/tables.js';
import { assertChecksum, recordChecksum } from '../database/checksums.js';
import { chunksOf, locked, writeAs, type Connection, type RunContext } from './context.js';
import { prune } from './prune.js';

export function trainSteps(
  context: RunContext,
): Pick<RunStore, 'recordTrainStep' | 'trainRecordsAfter' | 'prune'> {
  const { database, run } = context;
  return {
    recordTrainStep: (member, record) =>
      writeAs(context, member, 'record a train step', async (db) => {
        // Locks the training run, because copies of the same call may arrive concurrently.
        const last = await lastTrainStep(context, db);
        if (await isRecorded(context, db, record)) return;
        assertNext(record, last);
        await db
          .insertInto('train_step')
          .values({
            run,
            train_step: record.trainStep,
            epoch: member.epoch,
            checksum: recordChecksum(record),
            at: database.now(),
          })
          .execute();
        await insertUses(context, db, record);
      }),
    trainRecordsAfter: (trainStep) =>
      database.read('read train steps', (db) => recordsAfter(context, db, trainStep)),
    prune: (member, trainStep) =>
      writeAs(
        context,
        member,
        'delete what was trained on',
        (db) => prune(context, db, trainStep),
        { notifies: () => false },
      ),
  };
}

/**
 * Returns true if the train step is already recorded with the same contents.
 * @throws BufferError if the step is recorded with different contents
 */
async function isRecorded(
  { run }: RunContext,
  db: Connection,
  record: TrainRecord,
): Promise<boolean> {
  const row = await db
    .selectFrom('train_step')
    .select('checksum')
    .where('run', '=', run)
    .where('train_step', '=', record.trainStep)
    .executeTakeFirst();
  if (!row) return false;
  if (row.checksum !== recordChecksum(record)) throw otherRecord(record.trainStep);
  return true;
}

const otherRecord = (trainStep: number): BufferError =>
  new BufferError(
    `Train step ${trainStep} is recorded with other experiences; expected the same ones when it is made again. Nothing was changed. Resume from a checkpoint with the batches of trainRecordsAfter.`,
    { code: 'STORE_OTHER_RECORD' },
  );

/** Checks that a step follows the last recorded step. */
function assertNext({ trainStep }: TrainRecord, last: number): void {
  if (trainStep === last + 1) return;
  throw new BufferError(
    `Train step ${trainStep} cannot be recorded: the last one is ${last}; expected ${last + 1}. Resume from the newest checkpoint.`,
    { code: 'STORE_TRAIN_STEP' },
  );
}

/**
 * Returns the last recorded train step, or 0 if there is none. Locks the training run until the
 * transaction ends.
 */
async function lastTrainStep(context: RunContext, db: Connection): Promise<number> {
  const { run } = context;
  const row = await locked(
    context,
    db.selectFrom('run').select('pruned_step').where('id', '=', run),
  ).executeTakeFirstOrThrow();
  const last = await db
    .selectFrom('train_step')
    .select('train_step')
    .where('run', '=', run)
    .orderBy('train_step', 'desc')
    .limit(1)
    .executeTakeFirst();
  return Math.max(row.pruned_step, last?.train_step ?? 0);
}

async function insertUses(
  context: RunContext,
  db: Connection,
  { trainStep, trained, kept = [], discarded }: TrainRecord,
): Promise<void> {
  const isKept = new Set(kept);
  const trainedUses = trained.map((uid) => ({
    uid,
    reason: null,
    is_kept: Number(isKept.has(uid)),
  }));
  const discardedUses = discarded.map(({ uid, reason }) => ({ uid, reason, is_kept: 0 }));
  const uses = [...trainedUses, ...discardedUses].map((use, place) => ({
    ...use,
    run: context.run,
    train_step: trainStep,
    place,
  }));
  for (const chunk of chunksOf(uses)) await insertChunk(context, db, chunk);
}

async function insertChunk(
  { run }: RunContext,
  db: Connection,
  uses: readonly UseRow[],
): Promise<void> {
  const uids = uses.map(({ uid }) => uid);
  const stored = await db
    .selectFrom('experience')
    .select('uid')
    .where('run', '=', run)
    .where('uid', 'in', uids)
    .execute();
  const isStored = new Set(stored.map(({ uid }) => uid));
  const unknown = uids.find((uid) => !isStored.has(uid));
  if (unknown !== undefined) throw unknownError(unknown);
  const usedUp = await db
    .selectFrom('use')
    .select(['uid', 'train_step'])
    .where('run', '=', run)
    .where('uid', 'in', uids)
    .where('is_kept', '=', 0)
    .executeTakeFirst();
  if (usedUp) throw usedTwice(usedUp);
  await db.insertInto('use').values(uses).execute();
}

const usedTwice = ({ uid, train_step: step }: Pick<UseRow, 'uid' | 'train_step'>): BufferError =>
  new BufferError(
    `The experience ${uid} was used up by train step ${step} already. Nothing was changed.`,
    { code: 'STORE_USED_TWICE' },
  );

const unknownError = (uid: string): BufferError =>
  new BufferError(
    `A train step used the experience ${uid}, which the store does not have: it was never stored, or is used up and deleted. Nothing was changed.`,
    { code: 'STORE_UNKNOWN_EXPERIENCE' },
  );

async function recordsAfter(
  context: RunContext,
  db: Connection,
  trainStep: number,
): Promise<readonly TrainRecord[]> {
  const { run } = context;
  const { pruned_step: prunedStep } = await db
    .selectFrom('run')
    .select('pruned_step')
    .where('id', '=', run)
    .executeTakeFirstOrThrow();
  if (trainStep < prunedStep) throw prunedError(trainStep, prunedStep);
  const steps = await db
    .selectFrom('train_step')
    .select(['train_step', 'checksum'])
    .where('run', '=', run)
    .where('train_step', '>', trainStep)
    .orderBy('train_step')
    .execute();
  const records: TrainRecord[] = [];
  for (const { train_step: step, checksum } of steps) {
    const record = await readRecord(context, db, step);
    assertChecksum(checksum, recordChecksum(record), `The record of train step ${step}`);
    records.push(record);
  }
  return records;
}

async function readRecord(
  { run }: RunContext,
  db: Connection,
  trainStep: number,
): Promise<TrainRecord> {
  const uses = await db
    .selectFrom('use')
    .select(['uid', 'reason', 'is_kept'])
    .where('run', '=', run)
    .where('train_step', '=', trainStep)
    .orderBy('place')
    .execute();
  const trained = uses.filter(({ reason }) => reason === null);
  return {
    trainStep,
    trained: trained.map(({ uid }) => uid),
    kept: trained.filter((use) => use.is_kept === 1).map(({ uid }) => uid),
    discarded: uses.flatMap(({ uid, reason }) => (reason === null ? [] : [{ uid, reason }])),
  };
}

const prunedError = (trainStep: number, prunedStep: number): BufferError =>
  new BufferError(
    `The run cannot go back to train step ${trainStep}: what was trained on up to step ${prunedStep} has been deleted (experience_buffer.keep_trained_steps). Resume from a later checkpoint, or start the run again with another name.`,
    { code: 'BUFFER_PRUNED' },
  );
