/** What became of tasks: their results, and rewards that come later. */
import type { Experience } from '@trinity-rft/core';
import {
  BufferError,
  encodeExperience,
  uid,
  type LeasedTask,
  type Membership,
  type RunStore,
} from '@trinity-rft/core/internal';
import { taskState, type ExperienceRow } from '../database/tables.js';
import { experienceChecksum, textChecksum } from './checksums.js';
import { countDown } from './completion.js';
import { assertMember, chunksOf, type Connection, type RunContext } from './context.js';
import { batchId } from './leases.js';

export function results(context: RunContext): Pick<RunStore, 'complete'> {
  return {
    complete: (member, task, result) => {
      const encoded = encode(result.experiences);
      const outcome = JSON.stringify(result.outcome);
      return context.database.write('store the result of a task', async (db) => {
        await assertMember(context, db, member);
        const work = { member, task, outcome };
        const batch = await markDone(context, db, work);
        if (batch === undefined) return repeatedOrLate(context, db, work);
        const { awaits = [] } = result;
        await insertExperiences(context, db, { batch, task: task.task, encoded });
        await insertAwaited(context, db, batch, awaits);
        await countDown(context, db, { id: batch, open: -1, awaiting: awaits.length });
        return 'stored';
      });
    },
  };
}

interface Done {
  readonly member: Membership;
  readonly task: LeasedTask;
  readonly outcome: string;
}

/** @returns the id of the batch; undefined when the task is somebody else's, or has a result */
async function markDone(
  context: RunContext,
  db: Connection,
  { member, task, outcome }: Done,
): Promise<number | undefined> {
  const row = await db
    .updateTable('task')
    .set({
      state: taskState.done,
      owner: member.epoch,
      token: null,
      explorer: member.name,
      outcome,
      checksum: textChecksum(outcome),
      done_at: context.database.now(),
    })
    .where('run', '=', context.run)
    .where('batch', '=', batchId(context, db, task.batch))
    .where('task', '=', task.task)
    // Open: it was taken from a silent member, and nobody has begun it since.
    .where((eb) =>
      eb.or([
        eb('state', '=', taskState.open),
        eb.and([eb('state', '=', taskState.leased), eb('owner', '=', member.epoch)]),
      ]),
    )
    .returning('batch')
    .executeTakeFirst();
  return row?.batch;
}

async function repeatedOrLate(
  context: RunContext,
  db: Connection,
  { member, task }: Done,
): Promise<'stored' | 'late'> {
  const { run } = context;
  const row = await db
    .selectFrom('task')
    .select(['batch', 'state', 'owner'])
    .where('run', '=', run)
    .where('batch', '=', batchId(context, db, task.batch))
    .where('task', '=', task.task)
    .executeTakeFirst();
  if (!row) throw unknownTask(task);
  if (row.state === taskState.done && row.owner === member.epoch) return 'stored';
  await db
    .insertInto('late')
    .values({ run, batch: row.batch, task: task.task, epoch: member.epoch })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return 'late';
}

const unknownTask = ({ batch, task }: LeasedTask): BufferError =>
  new BufferError(
    `A result came for task ${task} of batch ${batch}, which the run does not have. Is this explorer of another run?`,
    { code: 'STORE_UNKNOWN_TASK' },
  );

type Encoded = Pick<ExperienceRow, 'uid' | 'place' | 'policy_version' | 'bytes' | 'checksum'>;

function encode(experiences: readonly Experience[]): readonly Encoded[] {
  return experiences.map((experience, place) => {
    const row = {
      uid: uid(experience.eid),
      place,
      policy_version: experience.policyVersion,
      bytes: encodeExperience(experience),
    };
    return { ...row, checksum: experienceChecksum(row) };
  });
}

interface Insertion {
  readonly batch: number;
  readonly task: number;
  readonly encoded: readonly Encoded[];
}

/** @throws BufferError when a uid is stored already */
async function insertExperiences(
  { run }: RunContext,
  db: Connection,
  { batch, task, encoded }: Insertion,
): Promise<void> {
  for (const chunk of chunksOf(encoded)) {
    const stored = await db
      .insertInto('experience')
      .values(chunk.map((row) => ({ ...row, run, batch, task })))
      .onConflict((conflict) => conflict.columns(['run', 'uid']).doNothing())
      .returning('uid')
      .execute();
    if (stored.length < chunk.length) throw duplicateError(chunk, stored);
  }
}

function duplicateError(
  rows: readonly { readonly uid: string }[],
  stored: readonly { readonly uid: string }[],
): BufferError {
  const isNew = new Set(stored.map((row) => row.uid));
  const repeated = rows.find((row) => !isNew.has(row.uid)) ?? rows[0];
  return new BufferError(
    `The experience ${repeated?.uid ?? ''} is stored already, or twice in one result; expected every uid to be new, because nothing may be trained twice. Nothing of this task was stored. Give each experience its own eid (batch/task/run/step/suffix).`,
    { code: 'BUFFER_DUPLICATE' },
  );
}

async function insertAwaited(
  { run, calendar }: RunContext,
  db: Connection,
  batch: number,
  runKeys: readonly string[],
): Promise<void> {
  const since = calendar();
  for (const chunk of chunksOf(runKeys))
    await db
      .insertInto('awaited')
      .values(chunk.map((run_key) => ({ run, run_key, batch, since })))
      .execute();
}
