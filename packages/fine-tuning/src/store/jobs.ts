/** Jobs and their events: one folder per job, with its state in `job.json`. */
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

/** Times are Unix times, in seconds. */
export interface JobRecord {
  readonly id: string;
  readonly created_at: number;
  readonly model: string;
  readonly training_file: string;
  readonly validation_file: string | null;
  readonly suffix: string;
  readonly seed: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Digest of the request, by which a repeated request is recognised. */
  readonly request: string;
  /** Hyperparameters are numbers once the files are checked. */
  readonly method: JobMethod;
  readonly status: JobStatus;
  readonly finished_at: number | null;
  readonly error: JobError | null;
  readonly result_files: readonly string[];
  readonly trained_tokens: number | null;
  /** Number of train steps; null until the files are checked. */
  readonly steps: number | null;
  /** Checkpoint of the trained model. */
  readonly checkpoint: string | null;
  /** True if a client has deleted the trained model. */
  readonly deleted: boolean;
  /** True if the webhook has been notified of the end. */
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
  /** All jobs, oldest first. */
  list(): readonly JobRecord[];
  /** @throws ModelError 404 */
  get(id: string): JobRecord;
  folderOf(id: string): string;
  /**
   * Adds a job to {@link list} at once, and resolves once it is on disk. Rejects if it cannot be
   * written.
   */
  create(record: Omit<JobRecord, 'id' | 'created_at'>): Promise<JobRecord>;
  /**
   * Resolves once the change is on disk. If it cannot be written, as on a full disk, it is retried
   * later.
   */
  change(id: string, changes: Partial<JobRecord>): Promise<JobRecord>;
  /** Events of a job, oldest first. */
  events(id: string): readonly JobEvent[];
  /** Adds an event, stored as with {@link change}. */
  say(id: string, event: NewEvent): Promise<void>;
}

const retryMs = 5000;

/**
 * @param onFailure called with each failure to write
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
   * Last write of each job. Writes of a job run one by one, because they share a temporary file.
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
  /** Ids of jobs whose files on disk lack changes. */
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

/** Records of older versions have `told` in place of `notified`. */
type StoredRecord = Omit<JobRecord, 'notified'> &
  Partial<Readonly<Record<'notified' | 'told', boolean>>>;

const byAge = (a: StoredJob, b: StoredJob): number => (a.record.id < b.record.id ? -1 : 1);

const eventsFile = 'events.jsonl';

const lineOf = (event: JobEvent): string => `${JSON.stringify(event)}\n`;

async function saveEvents(file: string, events: readonly JobEvent[]): Promise<void> {
  await writeFile(`${file}.tmp`, events.map(lineOf).join(''));
  await rename(`${file}.tmp`, file);
}

/** Reads a job; undefined for a folder without a record, which no client knows. */
async function readJob(folder: string): Promise<StoredJob | undefined> {
  const stored = await readJson<StoredRecord>(path.join(folder, 'job.json'));
  if (stored === undefined) return undefined;
  const { told = false, notified = told, ...others } = stored;
  const record = { ...others, notified };
  const file = path.join(folder, eventsFile);
  const text = await readFile(file, 'utf8').catch(() => '');
  const said = text.split('\n').flatMap(eventIn);
  // Removes a last line that a kill has cut off.
  if (said.map(lineOf).join('') !== text) await saveEvents(file, said);
  return { record, said };
}

/** Event of a line; empty if a kill or a full disk has cut the line off. */
function eventIn(line: string): readonly JobEvent[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as JobEvent];
  } catch {
    return [];
  }
}
