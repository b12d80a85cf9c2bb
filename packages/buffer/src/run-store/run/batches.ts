/** Lists complete batches, and reads their contents. */
import { type Experience, BufferError } from '@trinity-rft/core';
import {
  decodeExperience,
  type BatchContents,
  type JsonState,
  type RunStore,
} from '@trinity-rft/core/store';
import type { ExperienceRow, TaskTableRow } from '../database/tables.js';
import { assertChecksum, experienceChecksum, textChecksum } from '../database/checksums.js';
import { assertPlanned, planColumns } from './consistent.js';
import { chunksOf, type Connection, type RunContext } from './context.js';

export function batches(
  context: RunContext,
): Pick<RunStore, 'batchesCompletedAfter' | 'readBatch' | 'filterUnused'> {
  const { database, run } = context;
  return {
    batchesCompletedAfter: (order) =>
      database.read('list complete batches', async (db) => {
        const rows = await db
          .selectFrom('batch')
          .select(['completed', 'name', 'step', 'is_eval'])
          .where('run', '=', run)
          .where('completed', '>', order)
          .orderBy('completed')
          .execute();
        return rows.map((row) => ({
          order: row.completed ?? 0,
          batch: row.name,
          step: row.step,
          isEval: row.is_eval === 1,
        }));
      }),
    readBatch: (name) =>
      database.read('read a batch', async (db) => {
        const batch = await db
          .selectFrom('batch')
          .select(planColumns)
          .where('run', '=', run)
          .where('name', '=', name)
          .executeTakeFirst();
        if (!batch) throw unknownBatch(name);
        return read(context, db, batch);
      }),
    filterUnused: (uids) =>
      database.read('read what is not used up', async (db) => {
        const unused = new Set<string>();
        for (const chunk of chunksOf(uids))
          for (const uid of await unusedIn(context, db, chunk)) unused.add(uid);
        return unused;
      }),
  };
}

async function unusedIn(
  { run }: RunContext,
  db: Connection,
  uids: readonly string[],
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('experience')
    .select('uid')
    .where('run', '=', run)
    .where('uid', 'in', uids)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('use')
            .select('use.uid')
            .where('use.run', '=', run)
            .whereRef('use.uid', '=', 'experience.uid')
            .where('use.is_kept', '=', 0),
        ),
      ),
    )
    .execute();
  return rows.map(({ uid }) => uid);
}

const unknownBatch = (name: string): BufferError =>
  new BufferError(`The run has no batch ${name}.`, { code: 'STORE_UNKNOWN_BATCH' });

async function read(
  context: RunContext,
  db: Connection,
  batch: Parameters<typeof assertPlanned>[0] & { readonly id: number },
): Promise<BatchContents> {
  const experiences = new Map<number, Experience[]>();
  for (const row of await experiencesOf(context, db, batch.id)) {
    const experience = decoded(row);
    const ofTask = experiences.get(row.task);
    if (ofTask) ofTask.push(experience);
    else experiences.set(row.task, [experience]);
  }
  const tasks = await db
    .selectFrom('task')
    .select(['task', 'taskset', 'row_number', 'explorer', 'outcome', 'checksum'])
    .where('run', '=', context.run)
    .where('batch', '=', batch.id)
    .orderBy('task')
    .execute();
  assertPlanned(batch, tasks);
  return {
    results: tasks.map((row) => ({
      experiences: experiences.get(row.task) ?? [],
      outcome: outcomeOf(row),
      explorer: row.explorer ?? '',
    })),
    ...(await usesOf(context, db, batch.id)),
  };
}

const experiencesOf = (
  { run }: RunContext,
  db: Connection,
  batch: number,
): Promise<ExperienceRow[]> =>
  db
    .selectFrom('experience')
    .selectAll()
    .where('run', '=', run)
    .where('batch', '=', batch)
    .orderBy('task')
    .orderBy('place')
    .execute();

function decoded(row: ExperienceRow): Experience {
  assertChecksum(row.checksum, experienceChecksum(row), `The experience ${row.uid}`);
  return decodeExperience(row.bytes);
}

function outcomeOf(row: Pick<TaskTableRow, 'task' | 'outcome' | 'checksum'>): JsonState {
  if (row.outcome === null) return {};
  assertChecksum(row.checksum, textChecksum(row.outcome), `The outcome of task ${row.task}`);
  return JSON.parse(row.outcome) as JsonState;
}

async function usesOf(
  { run }: RunContext,
  db: Connection,
  batch: number,
): Promise<Pick<BatchContents, 'used' | 'useCounts'>> {
  const uses = await db
    .selectFrom('use')
    .innerJoin('experience', (on) =>
      on.onRef('experience.run', '=', 'use.run').onRef('experience.uid', '=', 'use.uid'),
    )
    .select(['use.uid', 'use.reason', 'use.is_kept'])
    .where('experience.run', '=', run)
    .where('experience.batch', '=', batch)
    .execute();
  const useCounts = new Map<string, number>();
  for (const { uid, reason } of uses)
    if (reason === null) useCounts.set(uid, (useCounts.get(uid) ?? 0) + 1);
  return {
    used: new Set(uses.filter((use) => use.is_kept === 0).map((use) => use.uid)),
    useCounts,
  };
}
