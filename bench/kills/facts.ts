/** Contents of the stores of a run, counted by SQL. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { usedRows, weightsDigest } from '../../apps/runner/test/support/run-record.ts';
import type { Work } from '../../packages/buffer/src/run-store/database/run-database.ts';
import { taskState } from '../../packages/buffer/src/run-store/database/tables.ts';
import { readStore } from '../store/read-store.ts';
import { jobOf, project, storeUrlOf, type RunPlace } from './workspace.ts';

/** Facts that must not change after they were recorded. */
export interface Acknowledged {
  /** Results of tasks by `batch/task`: worker, time and checksum. */
  readonly results: ReadonlyMap<string, string>;
  /** Train step, or reason for discarding, of each used experience. */
  readonly uses: ReadonlyMap<string, string>;
  readonly trainStep: number;
}

const nothing: Acknowledged = { results: new Map(), uses: new Map(), trainStep: 0 };

export async function acknowledged(place: RunPlace): Promise<Acknowledged> {
  const found = await readStore(storeUrlOf(place), async (db) => {
    const tasks = await db
      .selectFrom('task')
      .innerJoin('run', 'run.id', 'task.run')
      .where('run.name', '=', `${project}/${place.name}`)
      .where('state', '=', taskState.done)
      .select(['batch', 'task', 'explorer', 'done_at', 'checksum'])
      .execute();
    const uses = await db
      .selectFrom('use')
      .innerJoin('run', 'run.id', 'use.run')
      .where('run.name', '=', `${project}/${place.name}`)
      .select(['uid', 'train_step', 'reason'])
      .orderBy('train_step')
      .execute();
    return {
      results: new Map(
        tasks.map((row) => [
          `${row.batch}/${row.task}`,
          `${row.explorer} ${row.done_at} ${row.checksum}`,
        ]),
      ),
      uses: new Map(uses.map((row) => [row.uid, `${row.train_step} ${row.reason}`])),
      trainStep: uses.at(-1)?.train_step ?? 0,
    };
  });
  return found ?? nothing;
}

/** Process id of the trainer that currently owns the run. */
export function owningTrainer(place: RunPlace): Promise<number | undefined> {
  return readStore(storeUrlOf(place), async (db) => {
    const member = await db
      .selectFrom('member')
      .innerJoin('run', 'run.id', 'member.run')
      .where('run.name', '=', `${project}/${place.name}`)
      .where('member.role', '=', 'trainer')
      .where('member.epoch', '>', 0)
      .select('member.pid')
      .executeTakeFirst();
    return member?.pid;
  });
}

export interface Facts {
  readonly digest: string;
  readonly counts: {
    readonly tasks: number;
    readonly withoutResult: number;
    readonly experiences: number;
    /** Number of tasks with more, or fewer, experiences than runs. */
    readonly otherExperiences: number;
    readonly trained: number;
    readonly trainedTwice: number;
    readonly unused: number;
  };
  readonly late: number;
  /** Number of late results that the explorers have reported. */
  readonly noticedLate: number;
  /** Uses of experiences according to the run's store. */
  readonly uses: ReadonlyMap<string, string>;
  /** Uses according to the trainer's own store, in the same form. */
  readonly ownUses: ReadonlyMap<string, string>;
}

/**
 * Facts from the run's store and from the files of its last trainer.
 * @param trainer number of the trainer that ended the run
 */
export async function factsOf(place: RunPlace, trainer: number): Promise<Facts> {
  const counted = await countsOf(place);
  const job = jobOf(place, trainer);
  const own = usedRows(path.join(job, 'buffer/experiences.db'));
  const { uses } = await acknowledged(place);
  const ownUses = new Map(own.map(({ uid, trainStep }) => [uid, `${trainStep ?? ''} null`]));
  return { ...counted, noticedLate: noticed(place), uses, ownUses, digest: weightsDigest(job) };
}

/** Facts from the run's store alone. */
export async function countsOf(place: RunPlace): Promise<Pick<Facts, 'counts' | 'late'>> {
  const counted = await readStore(storeUrlOf(place), (db) => count(db, place));
  if (!counted) throw new RangeError(`${place.name} has no store.`);
  return counted;
}

function noticed(place: RunPlace): number {
  const logs = globSync(path.join(jobOf(place, 1), 'explorers/*/log/*'));
  return logs.flatMap((log) => readFileSync(log, 'utf8').match(/came too late/g) ?? []).length;
}

const runsPerTask = 4;

async function count(
  db: Parameters<Work<unknown>>[0],
  { name }: RunPlace,
): Promise<Pick<Facts, 'counts' | 'late'>> {
  const { id: run } = await db
    .selectFrom('run')
    .select('id')
    .where('name', '=', `${project}/${name}`)
    .executeTakeFirstOrThrow();
  const total = (rows: readonly unknown[]): number => rows.length;
  const tasks = await db.selectFrom('task').select('task').where('run', '=', run).execute();
  const withoutResult = await db
    .selectFrom('task')
    .select('task')
    .where('run', '=', run)
    .where((eb) => eb.or([eb('state', '<>', taskState.done), eb('outcome', 'is', null)]))
    .execute();
  const perTask = await db
    .selectFrom('experience')
    .select((eb) => ['batch', 'task', eb.fn.countAll<number>().as('count')])
    .where('run', '=', run)
    .groupBy(['batch', 'task'])
    .execute();
  const perUse = await db
    .selectFrom('use')
    .select((eb) => ['uid', eb.fn.countAll<number>().as('count')])
    .where('run', '=', run)
    .where('reason', 'is', null)
    .groupBy('uid')
    .execute();
  const unused = await db
    .selectFrom('experience')
    .leftJoin('use', (join) =>
      join.onRef('use.uid', '=', 'experience.uid').onRef('use.run', '=', 'experience.run'),
    )
    .select('experience.uid')
    .where('experience.run', '=', run)
    .where('use.uid', 'is', null)
    .execute();
  const late = await db.selectFrom('late').select('task').where('run', '=', run).execute();
  return {
    counts: {
      tasks: total(tasks),
      withoutResult: total(withoutResult),
      experiences: perTask.reduce((sum, row) => sum + Number(row.count), 0),
      otherExperiences: perTask.filter((row) => Number(row.count) !== runsPerTask).length,
      trained: total(perUse),
      trainedTwice: perUse.filter((row) => Number(row.count) > 1).length,
      unused: total(unused),
    },
    late: total(late),
  };
}
