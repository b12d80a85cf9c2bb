/**
 * Stores jobs and their events, in one folder per job. The file `job.json` contains the job's
 * record.
 */
import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import type { JobMethod } from '../wire/job-request.js';
import { noSuchJob } from '../wire/refuse.js';
import { newId, readJson, saveJson } from './save-json.js';

export type JobStatus =
  | 'validating_files'
  | 'queued'
  | 'running'
  | 'paused'
  | 'succeeded'
  | 'failed'
  | 'cancelled';

export const isOver = (status: JobStatus): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';

export interface JobError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

/** Record of a job. Times are Unix times, in seconds. */
export interface JobRecord {
  readonly id: string;
  readonly created_at: number;
  readonly model: string;
  readonly training_file: string;
  readonly validation_file: string | null;
  readonly suffix: string;
  readonly seed: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Hash of the request that created the job, by which a repeated request is recognised. */
  readonly request: string;
  /**
   * Method of the job. When the files have been checked, hyperparameters that are `auto` are
   * replaced with numbers.
   */
  readonly method: JobMethod;
  readonly status: JobStatus;
  readonly finished_at: number | null;
  readonly error: JobError | null;
  readonly result_files: readonly string[];
  readonly trained_tokens: number | null;
  /** Number of train steps; null until the files have been checked. */
  readonly steps: number | null;
  /** Path of the checkpoint of the trained model; null until the job has succeeded. */
  readonly checkpoint: string | null;
  /** True if a client has deleted the trained model. */
  readonly deleted: boolean;
  /**
   * True if the webhook has been notified that the job has ended, or if a server without a webhook
   * has had the job since then.
   */
  readonly notified: boolean;
}

/** An event in the format of the API. */
interface JobEvent {
  readonly object: 'fine_tuning.job.event';
  readonly id: string;
  readonly created_at: number;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly type: 'message' | 'metrics';
  readonly data: Readonly<Record<string, unknown>>;
}

type NewEvent = Pick<JobEvent, 'message'> & Partial<Pick<JobEvent, 'level' | 'type' | 'data'>>;

export interface JobStore {
  /** Returns all jobs, oldest first. */
  list(): readonly JobRecord[];
  /**
   * Returns the record of a job.
   * @throws ModelError 404 if there is no such job
   */
  get(id: string): JobRecord;
  folderOf(id: string): string;
  /**
   * Adds a job to {@link list} at once. Resolves when the job is on disk, and rejects if it cannot
   * be written.
   */
  create(record: Omit<JobRecord, 'id' | 'created_at'>): Promise<JobRecord>;
  /**
   * Changes a job's record in memory and on disk. Resolves when the change is on disk. Also
   * resolves if writing fails, for example because the disk is full; the write is then retried
   * later.
   */
  change(id: string, changes: Partial<JobRecord>): Promise<JobRecord>;
  /** Returns the events of a job, oldest first. */
  events(id: string): readonly JobEvent[];
  /** Adds an event and writes it in the same way as {@link change}. */
  say(id: string, event: NewEvent): Promise<void>;
}

const retryMs = 5000;

/**
 * Opens the store in `directory`, which is created if it is missing.
 * @param onFailure called with a message when writing a job fails
 * @throws ConfigError naming an unreadable record
 */
export async function openJobStore(
  directory: string,
  now: () => number,
  onFailure: (why: string) => void,
): Promise<JobStore> {
  await mkdir(directory, { recursive: true });
  const folderOf = (id: string): string => path.join(directory, id);
  const jobs = new Map<string, JobRecord>();
  const events = new Map<string, JobEvent[]>();
  const found = await Promise.all((await readdir(directory)).map((id) => readJob(folderOf(id))));
  const known = found.filter((each) => each !== undefined);
  for (const { record, said } of known.toSorted(byAge)) {
    jobs.set(record.id, record);
    events.set(record.id, said);
  }
  const get = (id: string): JobRecord => {
    const record = jobs.get(id);
    if (record) return record;
    throw noSuchJob(id);
  };
  /**
   * Last queued write of each job. The writes of a job are executed one after another, because they
   * use the same temporary file.
   */
  const writes = new Map<string, Promise<void>>();
  const inTurn = (id: string, write: () => Promise<void>): Promise<void> => {
    const next = (writes.get(id) ?? Promise.resolve()).then(write);
    writes.set(
      id,
      next.catch(() => undefined),
    );
    return next;
  };
  const saveRecord = (id: string): Promise<void> =>
    saveJson(path.join(folderOf(id), 'job.json'), get(id));
  /** Ids of jobs whose last changes could not be written yet. */
  const behind = new Set<string>();
  const fallBehind = (id: string, error: unknown): void => {
    if (behind.has(id)) return;
    behind.add(id);
    onFailure(
      `${id} cannot be written, and is tried again in ${retryMs / 1000} s: ${describeError(error)}. Make room, or restore its folder.`,
    );
    setTimeout(() => void saveAll(id), retryMs).unref();
  };
  const save = async (id: string, write: () => Promise<void>): Promise<void> => {
    if (!behind.has(id)) await inTurn(id, write).catch((error: unknown) => fallBehind(id, error));
  };
  const saveAll = (id: string): Promise<void> => {
    behind.delete(id);
    return save(id, async () => {
      await saveEvents(path.join(folderOf(id), eventsFile), events.get(id) ?? []);
      await saveRecord(id);
    });
  };
  return {
    list: () => [...jobs.values()],
    get,
    folderOf,
    create: async (given) => {
      const id = newId('ftjob');
      const record = { ...given, id, created_at: now() };
      jobs.set(id, record);
      events.set(id, []);
      try {
        await mkdir(folderOf(id));
        await inTurn(id, () => saveRecord(id));
      } catch (error) {
        jobs.delete(id);
        await rm(folderOf(id), { recursive: true, force: true });
        throw error;
      }
      return record;
    },
    change: async (id, changes) => {
      jobs.set(id, { ...get(id), ...changes });
      await save(id, () => saveRecord(id));
      return get(id);
    },
    events: (id) => events.get(get(id).id) ?? [],
    say: async (id, { message, level = 'info', type = 'message', data = {} }) => {
      const said = events.get(id) ?? [];
      const event: JobEvent = {
        object: 'fine_tuning.job.event',
        id: `ftevent-${id.slice('ftjob-'.length)}-${said.length}`,
        created_at: now(),
        level,
        message,
        type,
        data,
      };
      said.push(event);
      await save(id, () => appendFile(path.join(folderOf(id), eventsFile), lineOf(event)));
    },
  };
}

interface StoredJob {
  readonly record: JobRecord;
  readonly said: JobEvent[];
}

const byAge = (a: StoredJob, b: StoredJob): number => (a.record.id < b.record.id ? -1 : 1);

const eventsFile = 'events.jsonl';

const lineOf = (event: JobEvent): string => `${JSON.stringify(event)}\n`;

async function saveEvents(file: string, events: readonly JobEvent[]): Promise<void> {
  await writeFile(`${file}.tmp`, events.map(lineOf).join(''));
  await rename(`${file}.tmp`, file);
}

/** Stored record of a job. In records of earlier versions, `notified` has the name `told`. */
type StoredRecord = Omit<JobRecord, 'notified'> &
  Partial<Readonly<Record<'notified' | 'told', boolean>>>;

/**
 * Reads a job from its folder, or returns undefined if the folder has no record. The id of such a
 * job was never returned to a client.
 */
async function readJob(folder: string): Promise<StoredJob | undefined> {
  const stored = await readJson<StoredRecord>(path.join(folder, 'job.json'));
  if (stored === undefined) return undefined;
  const { told = false, notified = told, ...others } = stored;
  const record = { ...others, notified };
  const file = path.join(folder, eventsFile);
  const text = await readFile(file, 'utf8').catch(() => '');
  const said = text.split('\n').flatMap(eventIn);
  // Removes a last line that was cut off when the server was killed.
  if (said.map(lineOf).join('') !== text) await saveEvents(file, said);
  return { record, said };
}

/**
 * Parses the event of a line. Returns an empty list if the line was cut off by a kill or a full
 * disk.
 */
function eventIn(line: string): readonly JobEvent[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as JobEvent];
  } catch {
    return [];
  }
}
