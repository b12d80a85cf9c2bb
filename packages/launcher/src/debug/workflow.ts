/**
 * One attempt at the first task, with everything that is known about it: for trying a workflow
 * before it trains.
 */
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import type { ChatFormat } from '@trinity-rft/chat';
import {
  describeError,
  redactText,
  systemClock,
  TaskError,
  withFields,
  type Experience,
  type RewardFn,
  type Task,
} from '@trinity-rft/core';
import { createInstancePool, runTask, type RunOutcome } from '@trinity-rft/explorer';
import type { RecordedFork } from '@trinity-rft/model';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { setEnvironment } from '../assembly/environment.js';
import { modelFactory, type RecordedAttempt } from '../assembly/models/rollout-model.js';
import { readTasks } from '../assembly/data/tasks.js';
import { rewardFnFinder, type StageContext } from '../context/stage-context.js';
import { catchStrays, firstCause } from '../run/failure.js';
import { timestamp } from '../run/configuration.js';
import { openDebugModels, type DebugModels } from './models.js';
import { openDebugContext, type DebugOptions } from './open.js';
import { profilePage } from './profile-page.js';
import type { WorkflowDebugReport } from './report.js';
import { chromeTrace, toSpans } from './spans.js';
import { recordTurns, type Turn, type TurnRecorder } from './turns.js';

export interface DebugWorkflowOptions extends DebugOptions {
  /**
   * Replace what an earlier debug run left; else the files go into a folder with the time in its
   * name.
   * @default true
   */
  readonly overwrite?: boolean;
  /** Also write where the time went. @default false */
  readonly profile?: boolean;
}

/** Names of the files in the output directory. `trinity view` and the viewer read the first. */
export const debugFiles = {
  experiences: 'experiences.db',
  failedTurns: 'failed_turns.json',
  profile: 'profile.html',
  trace: 'trace.json',
  facts: 'debug.json',
} as const;

/**
 * Runs the first task once; what the workflow does wrong is in the report. Nothing of the run's own
 * folder is written.
 * @throws ConfigError, TaskError when there is nothing that could be run
 */
export async function debugWorkflow(options: DebugWorkflowOptions): Promise<WorkflowDebugReport> {
  const { context, notices } = await openDebugContext(options);
  const directory = path.resolve(options.cwd ?? '.', options.outputDirectory ?? 'debug_output');
  const [task] = await readTasks(context, 'debug');
  if (!task)
    throw new TaskError(
      'The first task set has no rows. Expected at least one task to debug with.',
      { code: 'TASKS_EMPTY' },
    );
  const format = await openChatFormat(context);
  const restoreEnvironment = setEnvironment(context.stage.explorer.envVars);
  try {
    const models = await openDebugModels(context, format, directory);
    try {
      const attempt = await withStrays(() =>
        runOnce(context, { ...task, repeatTimes: 1 }, format, models),
      );
      const outputDirectory = await prepare(directory, options);
      const report = {
        ...attempt,
        notices,
        outputDirectory,
        ...(models.servedAt !== undefined && { servedAt: models.servedAt }),
      };
      const files = await writeFiles(report, {
        model: context.startModel,
        profile: options.profile ?? false,
      });
      return { ...report, files };
    } finally {
      await models.close();
    }
  } finally {
    restoreEnvironment();
  }
}

type Attempt = Omit<
  WorkflowDebugReport,
  'outputDirectory' | 'files' | 'servedAt' | 'strays' | 'notices'
>;

async function withStrays<T>(
  work: () => Promise<T>,
): Promise<T & { readonly strays: readonly string[] }> {
  const strays: string[] = [];
  const caught = catchStrays((line) => strays.push(line));
  try {
    const result = await work();
    // Node reports a rejection that nobody awaits after the turn in which it happened.
    await new Promise((resolve) => setImmediate(resolve));
    return { ...result, strays };
  } finally {
    caught.stop();
  }
}

async function runOnce(
  context: StageContext,
  task: Task,
  format: ChatFormat,
  models: DebugModels,
): Promise<Attempt> {
  const { stage, runtime, signal } = context;
  const { clock } = runtime;
  const recorder = recordTurns(models.sampler, format, () => clock.now());
  const rewards: { begun: number; ended: number }[] = [];
  const rewardFn = rewardFnFinder(context.rewardFns)(task);
  const timedRewardFn: RewardFn | undefined =
    rewardFn && timed(rewardFn, () => clock.now(), rewards);
  // Prompts as text, so that records are readable where the tokenizer is not at hand.
  const readable = {
    ...context,
    stage: { ...stage, trainer: { ...stage.trainer, enablePreview: true } },
  };
  const createModel = modelFactory(readable, { ...models, sampler: recorder.sampler, format });
  let attempt: RecordedAttempt | undefined;
  const begun = clock.now();
  const { runs } = await runTask(task, {
    definition: context.workflows.get(task.workflow),
    ...(timedRewardFn && { rewardFn: timedRewardFn }),
    createModel: (key) => (attempt = createModel(key)),
    settings: { maxTimeoutMs: stage.explorer.maxTimeoutMs, maxRetryTimes: 0 },
    limit: (work) => work(),
    pool: createInstancePool(),
    runtime,
    signal: AbortSignal.any([signal, models.gone]),
  });
  const ended = clock.now();
  const outcome = runs[0]!;
  const spans = toSpans({ begun, ended, turns: recorder.turns(), rewards, name: task.workflow });
  return {
    task,
    tokenizer: format.tokenizer,
    seconds: (ended - begun) / 1000,
    ...resultOf(outcome, task, attempt),
    ...recordsOf(recorder, attempt),
    spans,
  };
}

function resultOf(
  outcome: RunOutcome,
  task: Task,
  attempt: RecordedAttempt | undefined,
): Pick<Attempt, 'experiences' | 'reward' | 'metrics' | 'error'> {
  if (outcome.status === 'failed') {
    // What has been checked as a result is gone from the history; the turns still tell of it.
    const recorded = attempt?.model.extractExperiencesFromHistory() ?? [];
    const eid = { batch: task.batchId, task: task.taskId, run: 0 };
    const experiences = recorded.map((experience) =>
      withFields(experience, { eid: { ...experience.eid, ...eid } }),
    );
    return { experiences, metrics: attempt?.metrics() ?? {}, error: outcome.error };
  }
  const { experiences, reward, metrics } = outcome;
  return { experiences, metrics, ...(Number.isFinite(reward) && { reward }) };
}

function recordsOf(
  recorder: TurnRecorder,
  attempt: RecordedAttempt | undefined,
): { turns: readonly Turn[]; forks: readonly RecordedFork[] } {
  return { turns: recorder.turns(), forks: attempt?.model.forks() ?? [] };
}

function timed(
  rewardFn: RewardFn,
  now: () => number,
  times: { begun: number; ended: number }[],
): RewardFn {
  return async (input) => {
    const begun = now();
    try {
      return await rewardFn(input);
    } finally {
      times.push({ begun, ended: now() });
    }
  };
}

/**
 * The folder to write to, without what an earlier debug run left there. A served model's file
 * stays.
 */
async function prepare(
  directory: string,
  { overwrite = true, clock = systemClock }: DebugWorkflowOptions,
): Promise<string> {
  const used = await stat(path.join(directory, debugFiles.facts)).catch(() => undefined);
  const target = used && !overwrite ? `${directory}_${timestamp(clock)}` : directory;
  await mkdir(target, { recursive: true });
  const { experiences, ...others } = debugFiles;
  const databaseFiles = ['', '-wal', '-shm', '.lock'].map((end) => `${experiences}${end}`);
  for (const name of [...databaseFiles, ...Object.values(others)])
    await rm(path.join(target, name), { force: true });
  return target;
}

interface WriteOptions {
  /** Folder of the model, for the tokenizer of the viewer. */
  readonly model: string;
  readonly profile: boolean;
}

async function writeFiles(
  report: Omit<WorkflowDebugReport, 'files'>,
  { model, profile }: WriteOptions,
): Promise<readonly string[]> {
  const { outputDirectory, experiences, error, turns, forks, spans, task } = report;
  const contents: Record<string, string> = {};
  if (error) contents[debugFiles.failedTurns] = json(failure(report, error));
  if (profile) {
    contents[debugFiles.trace] = json(chromeTrace(spans));
    contents[debugFiles.profile] = profilePage(spans, task.workflow);
  }
  contents[debugFiles.facts] = json({
    model,
    workflow: task.workflow,
    task: task.index,
    turns: turns.length,
    forks,
    ...numbers(report),
  });
  for (const [name, text] of Object.entries(contents))
    await writeFile(path.join(outputDirectory, name), text);
  if (experiences.length === 0) return Object.keys(contents);
  await storeExperiences(path.join(outputDirectory, debugFiles.experiences), experiences);
  return [debugFiles.experiences, ...Object.keys(contents)];
}

const numbers = ({
  seconds,
  reward,
  metrics,
}: Pick<WorkflowDebugReport, 'seconds' | 'reward' | 'metrics'>): object => ({
  seconds,
  ...(reward !== undefined && { reward }),
  metrics,
});

/** What a person needs to see why: the error with its causes, and the conversation up to it. */
function failure(
  { task, turns, forks, spans }: Pick<WorkflowDebugReport, 'task' | 'turns' | 'forks' | 'spans'>,
  error: Error,
): object {
  const first = firstCause(error);
  const stack = first instanceof Error ? first.stack : undefined;
  return {
    error: redactText(describeError(error)),
    ...(stack !== undefined && { stack: redactText(causes(error)).split('\n') }),
    task: { workflow: task.workflow, ...task.index, rawTask: task.rawTask },
    turns: turns.map(({ begun, ended, ...turn }, i) => ({
      call: i,
      seconds: (ended - begun) / 1000,
      ...turn,
    })),
    forks,
    spans,
  };
}

/** Stacks of the error and what caused it. */
function causes(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return describeError(error);
  const { stack = error.message, cause } = error;
  return cause === undefined || depth >= 8
    ? stack
    : `${stack}\nCaused by: ${causes(cause, depth + 1)}`;
}

async function storeExperiences(file: string, experiences: readonly Experience[]): Promise<void> {
  const store = sqliteExperienceStore({ path: file, capacity: Infinity });
  try {
    await store.put(experiences);
  } finally {
    await store.close();
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
