/**
 * Executes one job in another process. Adds its train steps to the job's events, and reports its
 * result.
 */
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { checkpointName, checkpointSteps } from '@trinity-rft/core/engine';
import { lockHolder, readEnd, type RunEnd } from '@trinity-rft/launcher/files';
import { readMetrics } from '@trinity-rft/monitor';
import type { JobError, JobRecord } from '../store/jobs.js';
import { project } from './configuration.js';
import { configurationOf, trainedName, type PrepareContext } from './prepare.js';
import { repeat } from './repeat.js';
import { validLoss } from './valid-loss.js';
import { resultsCsv, stepsIn, type StepNumbers } from './results.js';

/** A `trinity` command in another process. */
export interface Command {
  readonly ended: Promise<CommandEnd>;
  /** Requests that the command saves a checkpoint and then ends. */
  stop(): void;
  kill(): void;
}

export interface CommandEnd {
  /**
   * How the command ended. A training run that was `interrupted` can resume from its last
   * checkpoint.
   */
  readonly outcome: 'done' | 'interrupted' | 'failed';
  /** Last lines of the command's output. */
  readonly output: string;
  /** How the process ended, such as `was ended by SIGKILL`. @default no reason */
  readonly reason?: string;
}

/** How a command deals with a crash of its process. */
export interface Restarts {
  /** Resolves to false if a restart would not help. */
  readonly mayHelp: () => Promise<boolean>;
  /** Returns the last train step. */
  readonly progress: () => number;
  /** Called with a message when the process is restarted. */
  readonly onRestart: (message: string) => void;
}

/**
 * Starts a `trinity` command in another process.
 * @param args command-line arguments
 * @param restarts @default a crashed process is restarted without a message
 */
export type StartCommand = (args: readonly string[], restarts?: Restarts) => Command;

export interface JobOptions extends PrepareContext {
  readonly start: StartCommand;
  /** Returns the Unix time, in seconds. */
  readonly now: () => number;
  /** Called when the training run of a job starts or resumes. */
  readonly onStart: (job: JobRecord) => void;
  /**
   * Makes the checkpoints of a job at these train steps available to clients, and no others, and
   * the model of a job that has succeeded.
   */
  readonly serve: (job: JobRecord, steps: readonly number[]) => void;
  /** Called when a job has succeeded, failed or been cancelled. */
  readonly onEnd: (job: JobRecord) => void;
}

const pollMs = 500;
/** Time after which a process that was asked to stop is killed, in milliseconds. */
const graceMs = 60_000;

interface RunningJob {
  readonly stop: () => void;
  /**
   * Resolves with the error if the job fails, and with undefined if the job succeeds or is stopped.
   */
  readonly ended: Promise<JobError | undefined>;
}

export function runJob(id: string, options: JobOptions): RunningJob {
  const { jobs } = options;
  const folder = path.join(options.runs, project, id);
  const stopping = new AbortController();
  const { signal } = stopping;
  let command: Command | undefined;
  let killer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => {
    // A second stop would end the command without a checkpoint.
    if (signal.aborted) return;
    stopping.abort();
    command?.stop();
    killer = setTimeout(() => command?.kill(), graceMs).unref();
  };
  const work = async (): Promise<JobError | undefined> => {
    const isNew = jobs.get(id).status === 'queued';
    options.onStart(await jobs.change(id, { status: 'running' }));
    if (isNew) await jobs.say(id, { message: 'Fine-tuning job started' });
    for (;;) {
      await freeRun(folder, id, options, signal);
      if (signal.aborted) return undefined;
      let started = Date.now();
      const lastError = async (): Promise<RunEnd['error']> => {
        const end = await readEnd(folder);
        return end !== undefined && end.at >= started ? end.error : undefined;
      };
      command = options.start(['run', configurationOf(jobs, id)], {
        mayHelp: async () => (await lastError())?.willRepeat !== true,
        progress: () => follower.lastStep(),
        onRestart: (message) => {
          started = Date.now();
          void jobs.say(id, { level: 'warn', message });
        },
      });
      const follower = followSteps(id, folder, options);
      const { outcome, output, reason } = await command.ended;
      clearTimeout(killer);
      const steps = await follower.close();
      if (signal.aborted) return undefined;
      if (outcome === 'done') return succeed(id, folder, steps, options, signal);
      // Another process locked the training run between the check and the start.
      if (outcome === 'failed' && (await lockHolder(folder)) !== undefined) continue;
      if (outcome === 'interrupted')
        return trainingFailed('The process of the run was interrupted.');
      const error = await lastError();
      return trainingFailed(error ? describeFailure(error) : killedText(output, reason));
    }
  };
  const ended = work().catch(serverError);
  return { stop, ended: ended.then((error) => (signal.aborted ? undefined : error)) };
}

/**
 * Waits until no other process holds the lock of the training run. Such a process may have been
 * started by a user, or may belong to a killed server and still be saving a checkpoint.
 */
async function freeRun(
  folder: string,
  id: string,
  { jobs }: JobOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let said = false; !signal.aborted; said = true) {
    const holder = await lockHolder(folder);
    if (holder === undefined) return;
    if (!said)
      await jobs.say(id, { message: `Waiting for process ${holder}, which still runs this job` });
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

interface Follower {
  readonly lastStep: () => number;
  /** Ends the observation of the training run, and returns its train steps. */
  close(): Promise<readonly StepNumbers[]>;
}

/**
 * Adds an event for each new train step and checkpoint, and another one if the evaluation of a step
 * ends later. Skips those for which an earlier server process has added an event. Serves the
 * checkpoints that the training run keeps.
 */
function followSteps(id: string, folder: string, { jobs, serve }: JobOptions): Follower {
  const file = path.join(folder, 'monitor', 'metrics.jsonl');
  const { method, steps: total } = jobs.get(id);
  const saidData = jobs.events(id).map(({ data }) => data);
  const isEvaluated = (data: Readonly<Record<string, unknown>>): boolean =>
    data['valid_mean_reward'] !== undefined;
  const saidEvaluations = new Set(saidData.filter(isEvaluated).map(({ step }) => step));
  let lastStep = Math.max(0, ...saidData.map(({ step }) => Number(step ?? 0)));
  const saidCheckpoints = new Set(saidData.map(({ checkpoint }) => checkpoint));
  let served = '';
  const look = async (): Promise<readonly StepNumbers[]> => {
    const steps = stepsIn(await readMetrics(file, []), method.type);
    for (const { step, data } of steps) {
      const isNew = step > lastStep;
      const isLate = isEvaluated(data) && !saidEvaluations.has(step);
      if (!isNew && !isLate) continue;
      lastStep = Math.max(lastStep, step);
      if (isLate) saidEvaluations.add(step);
      const [title, value] = isNew
        ? ['training loss', data['train_loss']]
        : ['validation reward', data['valid_mean_reward']];
      await jobs.say(id, {
        message: `Step ${step}/${total}: ${title}=${value?.toFixed(4) ?? '-'}`,
        type: 'metrics',
        data: { step, total_steps: total, ...data },
      });
    }
    const saved = await checkpointSteps(folder);
    if (saved.join() !== served) serve(jobs.get(id), saved);
    served = saved.join();
    for (const step of saved) {
      if (saidCheckpoints.has(step) || step > lastStep) continue;
      saidCheckpoints.add(step);
      const message = `Checkpoint created at step ${step}`;
      await jobs.say(id, { message, data: { checkpoint: step } });
    }
    return steps;
  };
  const stop = repeat(look, pollMs);
  return {
    lastStep: () => lastStep,
    close: async () => {
      await stop();
      return look();
    },
  };
}

export const checkpointFolder = (runs: string, id: string, step: number): string =>
  path.join(runs, project, id, checkpointName(step));

async function succeed(
  id: string,
  folder: string,
  steps: readonly StepNumbers[],
  options: JobOptions,
  signal: AbortSignal,
): Promise<JobError | undefined> {
  const { jobs, files, runs, now, onEnd } = options;
  const saved = await checkpointSteps(folder);
  const step = saved.at(-1);
  if (step === undefined) return trainingFailed('The run saved no checkpoint.');
  const validated = await withValidLoss(id, steps, saved, options, signal);
  const csv = Buffer.from(resultsCsv(validated, jobs.get(id).method.type));
  const about = { filename: 'step_metrics.csv', purpose: 'fine-tune-results' } as const;
  // The id derives from the job's id. If the server is killed before the job is written, the next
  // attempt replaces the file.
  const result = await files
    .create(csv, about, id.replace('ftjob-', 'file-'))
    .catch(async (error: unknown) => {
      const message = `The result file cannot be written: ${describeError(error)}. The metrics are in the events of the job.`;
      await jobs.say(id, { level: 'warn', message });
      return undefined;
    });
  // The job has been cancelled, paused or interrupted in the meantime.
  if (signal.aborted) return undefined;
  const trained = jobs.change(id, {
    status: 'succeeded',
    finished_at: now(),
    checkpoint: checkpointFolder(runs, id, step),
    result_files: result ? [result.id] : [],
    trained_tokens: steps.reduce((sum, { tokens }) => sum + tokens, 0),
  });
  // Clients see the changed record at once, and may ask the model that it names.
  options.serve(jobs.get(id), saved);
  await jobs.say(id, { message: `New fine-tuned model created: ${trainedName(jobs.get(id))}` });
  await jobs.say(id, { message: 'The job has successfully completed' });
  onEnd(await trained);
  return undefined;
}

/** Maximum number of rows without a validation loss that an event lists. */
const mostNamed = 5;

/**
 * Computes the validation loss of each checkpoint and adds it to the checkpoint's train step. Only
 * for supervised jobs with a validation file.
 */
async function withValidLoss(
  id: string,
  steps: readonly StepNumbers[],
  saved: readonly number[],
  { jobs, files, runs }: JobOptions,
  signal: AbortSignal,
): Promise<readonly StepNumbers[]> {
  const { validation_file: file, method } = jobs.get(id);
  if (file === null || method.type !== 'supervised') return steps;
  const losses = new Map<number, number>();
  for (const step of saved) {
    const checkpoint = checkpointFolder(runs, id, step);
    const skipped: string[] = [];
    const onSkip = (why: string): void => void skipped.push(why);
    const loss = await validLoss(checkpoint, files.pathOf(file), signal, onSkip).catch(
      describeError,
    );
    if (signal.aborted) return steps;
    if (skipped.length > 0) {
      const message = `The validation loss of step ${step} leaves out ${skipped.length} rows of ${file} that cannot be scored. ${skipped.slice(0, mostNamed).join(' ')}`;
      await jobs.say(id, { level: 'warn', message });
    }
    if (typeof loss === 'string') {
      const message = `The validation loss of step ${step} cannot be computed: ${loss}`;
      await jobs.say(id, { level: 'warn', message });
      continue;
    }
    losses.set(step, loss);
    await jobs.say(id, {
      message: `Checkpoint of step ${step}: validation loss=${loss.toFixed(4)}`,
      type: 'metrics',
      data: { checkpoint: step, full_valid_loss: loss },
    });
  }
  return steps.map((each) => {
    const loss = losses.get(each.step);
    return loss === undefined ? each : { ...each, data: { ...each.data, valid_loss: loss } };
  });
}

export const serverError = (error: unknown): JobError => ({
  code: 'server_error',
  message: describeError(error),
  param: null,
});

const trainingFailed = (message: string): JobError => ({
  code: 'training_failed',
  message,
  param: null,
});

/** Code of the error of a run whose rollouts all fail. */
const allFailed = 'ALL_RUNS_FAILED';

// The message of this error says how a user resumes the run, which a client cannot do.
const describeFailure = ({ code, cause, message }: NonNullable<RunEnd['error']>): string =>
  code === allFailed && cause !== undefined
    ? `All rollouts failed, the first one as follows. ${cause}`
    : message;

/** Describes the end of a process that recorded no error. Its last lines are rarely the cause. */
const killedText = (output: string, reason?: string): string =>
  reason === undefined ? readable(output) : `The process ${reason}. ${readable(output, '')}`.trim();

/**
 * Returns the output of a command without the warnings of the log.
 * @param reason how the process ended, returned if nothing is left
 */
export const readable = (output: string, reason = 'ended without a message'): string =>
  output.replaceAll(/^warning: .*\n?(?: {4}.*\n?)*/gm, '').trim() ||
  (reason && `The process ${reason}.`);
