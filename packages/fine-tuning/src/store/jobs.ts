/** Jobs and their events: one folder each, whose `job.json` says how far the job is. */
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JobMethod } from '../wire/job-request.js';
import { noSuchJob } from '../wire/refuse.js';
import { newId, saveJson } from './save-json.js';

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
  /** Digest of the body that created it: a repeated request is the same job. */
  readonly request: string;
  /** Hyperparameters are numbers once the files are checked. */
  readonly method: JobMethod;
  readonly status: JobStatus;
  readonly finished_at: number | null;
  readonly error: JobError | null;
  readonly result_files: readonly string[];
  readonly trained_tokens: number | null;
  /** Train steps, once the files are checked. */
  readonly steps: number | null;
  /** Checkpoint of the trained model. */
  readonly checkpoint: string | null;
  /** Clients have deleted the trained model. */
  readonly deleted: boolean;
  /** The webhook has been told how it ended. */
  readonly told: boolean;
}

/** An event as the API shows it. */
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
  /** Oldest first. */
  list(): readonly JobRecord[];
  /** @throws ModelError 404 */
  get(id: string): JobRecord;
  folderOf(id: string): string;
  /** Seen by {@link list} at once, and on disk when it resolves. */
  create(record: Omit<JobRecord, 'id' | 'created_at'>): Promise<JobRecord>;
  change(id: string, changes: Partial<JobRecord>): Promise<JobRecord>;
  /** Oldest first. */
  events(id: string): readonly JobEvent[];
  say(id: string, event: NewEvent): Promise<void>;
}

export async function openJobStore(directory: string, now: () => number): Promise<JobStore> {
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
  /** One after the other: a file has one draft. */
  const writes = new Map<string, Promise<void>>();
  const save = async (id: string): Promise<void> => {
    const before = writes.get(id) ?? Promise.resolve();
    const next = before.then(() => saveJson(path.join(folderOf(id), 'job.json'), get(id)));
    writes.set(id, next);
    await next;
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
      await mkdir(folderOf(id));
      await save(id);
      return record;
    },
    change: async (id, changes) => {
      jobs.set(id, { ...get(id), ...changes });
      await save(id);
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
      await appendFile(path.join(folderOf(id), 'events.jsonl'), `${JSON.stringify(event)}\n`);
    },
  };
}

interface StoredJob {
  readonly record: JobRecord;
  readonly said: JobEvent[];
}

const byAge = (a: StoredJob, b: StoredJob): number => (a.record.id < b.record.id ? -1 : 1);

/** Undefined for a folder whose creation was cut off, so that no client knows of it. */
async function readJob(folder: string): Promise<StoredJob | undefined> {
  const text = await readFile(path.join(folder, 'job.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const file = path.join(folder, 'events.jsonl');
  const events = await readFile(file, 'utf8').catch(() => '');
  const whole = events.slice(0, events.lastIndexOf('\n') + 1);
  // A kill has cut the last line off.
  if (whole !== events) await writeFile(file, whole);
  const said = whole.split('\n').filter((line) => line !== '');
  return {
    record: JSON.parse(text) as JobRecord,
    said: said.map((line) => JSON.parse(line) as JobEvent),
  };
}
