/**
 * Checks the files of jobs concurrently, executes jobs one after another, and resumes them after a
 * restart of the server.
 */
import { isOver, type JobError } from '../store/jobs.js';
import { readable, runJob, serverError, type JobOptions } from './job-run.js';
import { configurationOf, errorOfCheck, prepareJob } from './prepare.js';

export interface Queue {
  /** Queues the jobs that an earlier server process left unfinished. */
  begin(): void;
  /** Checks the files of a new job, and queues it. */
  add(id: string): void;
  /** Starts the next job if none is running. */
  wake(): void;
  /**
   * Ends the process of a job if it is running. The caller must first change the status in the
   * job's record.
   */
  stop(id: string): void;
  /** Interrupts the running job. It is resumed when a server is opened on the same directory. */
  close(): Promise<void>;
}

export function createQueue(options: JobOptions): Queue {
  const { jobs, start } = options;
  const checks = new Set<Promise<void>>();
  let running: { readonly id: string; readonly stop: () => void; done: Promise<void> } | undefined;
  let isClosed = false;

  const fail = async (id: string, error: JobError): Promise<void> => {
    // A client may have cancelled the job in the meantime.
    if (isOver(jobs.get(id).status)) return;
    // The record changes at once, so that a client cannot cancel the job while the event is written.
    const failed = jobs.change(id, { status: 'failed', error, finished_at: options.now() });
    await jobs.say(id, { level: 'error', message: error.message });
    options.onEnd(await failed);
  };
  const check = async (id: string): Promise<void> => {
    await jobs.say(id, { message: `Validating training file: ${jobs.get(id).training_file}` });
    const prepared = await prepareJob(jobs.get(id), options);
    if (prepared.error) return fail(id, prepared.error);
    await jobs.change(id, prepared.changes);
    const { method, validation_file: validation } = jobs.get(id);
    if (method.type === 'dpo' && validation !== null)
      await jobs.say(id, {
        level: 'warn',
        message: `The rows of ${validation} are checked; a loss on them is computed for supervised jobs only`,
      });
    const { outcome, output, reason } = await start(['config', 'check', configurationOf(jobs, id)])
      .ended;
    if (isClosed || jobs.get(id).status !== 'validating_files') return;
    if (outcome !== 'done')
      return fail(id, await errorOfCheck(jobs.get(id), readable(output, reason), options));
    await jobs.change(id, { status: 'queued' });
    await jobs.say(id, { message: 'Files validated, moving job to queued state' });
    wake();
  };
  const add = (id: string): void => {
    const checking = check(id)
      .catch((error: unknown) => fail(id, serverError(error)))
      .finally(() => checks.delete(checking));
    checks.add(checking);
  };
  const wake = (): void => {
    if (running !== undefined || isClosed) return;
    // The job that an earlier server was running comes first.
    const waiting = jobs.list().filter(({ status }) => status === 'queued' || status === 'running');
    const job = waiting.find(({ status }) => status === 'running') ?? waiting[0];
    if (!job) return;
    const { stop, ended } = runJob(job.id, options);
    const done = ended
      .then((error) => error && fail(job.id, error))
      .finally(() => {
        running = undefined;
        wake();
      });
    running = { id: job.id, stop, done };
  };
  return {
    begin: () => {
      for (const { id, status } of jobs.list()) if (status === 'validating_files') add(id);
      wake();
    },
    add,
    wake,
    stop: (id) => {
      if (running?.id === id) running.stop();
    },
    close: async () => {
      isClosed = true;
      running?.stop();
      await Promise.all([...checks, running?.done]);
    },
  };
}
