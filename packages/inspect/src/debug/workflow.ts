/** Runs one attempt at the first task, and reports on it. */
import {
  type Clock,
  type RewardFn,
  type Task,
  systemClock,
  TaskError,
  withFields,
} from '@trinity-rft/core';
import { timestamp } from '@trinity-rft/core/support';
import type { RunOutcome } from '@trinity-rft/explorer';
import {
  assertNeeds,
  catchStrayErrors,
  modelFactory,
  openFrozenModels,
  readTasks,
  rewardFnFinder,
  setEnvironment,
} from '@trinity-rft/launcher/parts';
import type { FrozenContext } from './frozen-context.js';
import { prepareFolder, writeReport } from './files.js';
import { openDebugContext, type DebugOptions } from './open.js';
import type { WorkflowDebugReport } from './report.js';
import { runOnce } from './run-once.js';
import { findServedModel } from './served-model.js';
import { toSpans, type TimeRange } from './spans.js';
import { recordTurns } from './turns.js';

export interface DebugWorkflowOptions extends DebugOptions {
  /**
   * True to replace the files of an earlier debug run; false to keep them, and to write to a new
   * folder with the time in its name.
   * @default true
   */
  readonly overwrite?: boolean;
  /** True to also write a profile of the attempt. @default false */
  readonly profile?: boolean;
}

/**
 * Runs the first task once. Errors of the workflow are part of the report. Writes nothing into the
 * run's own folder.
 * @throws ConfigError when the configuration cannot be used; TaskError when there is no task to run
 */
export async function debugWorkflow(options: DebugWorkflowOptions): Promise<WorkflowDebugReport> {
  const { overwrite = true, profile = false, clock = systemClock } = options;
  const { context, notices, outputDirectory } = await openDebugContext(options);
  const { stage, startModel, extensions, signal, env } = context;
  await assertNeeds({
    // Skips the requirements of tracking services, because a debug run sends nothing to them.
    stage: { ...stage, monitor: { ...stage.monitor, sinks: [] } },
    extensions,
    env,
    signal,
  });
  const [task] = await readTasks(stage, 'debug', extensions, context);
  if (!task)
    throw new TaskError(
      'The first task set has no rows. Expected at least one task to debug with.',
      { code: 'TASKS_EMPTY' },
    );
  const restoreEnvironment = setEnvironment(context.env);
  try {
    const served = await findServedModel(outputDirectory, startModel);
    const models = await openFrozenModels(context, served?.sampler);
    try {
      const { result: attempt, strayErrors } = await withStrayErrors(() =>
        recordAttempt(context, { ...task, repeatTimes: 1 }, models),
      );
      const folder = await prepareFolder(outputDirectory, overwrite ? undefined : timestamp(clock));
      const report = {
        ...attempt,
        model: stage.external?.name ?? startModel,
        strayErrors,
        notices,
        outputDirectory: folder,
        servedAt: served?.url,
      };
      const files = await writeReport(report, { model: startModel, profile });
      return { ...report, files };
    } finally {
      await models.close();
    }
  } finally {
    restoreEnvironment();
  }
}

/** Runs `work`, and collects uncaught errors and unhandled rejections that occur meanwhile. */
async function withStrayErrors<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly strayErrors: readonly string[] }> {
  const strayErrors: string[] = [];
  const caught = catchStrayErrors((line) => strayErrors.push(line));
  try {
    const result = await work();
    // Node reports an unhandled rejection only after the event-loop turn in which the rejection
    // happened.
    await new Promise((resolve) => setImmediate(resolve));
    return { result, strayErrors };
  } finally {
    caught.stop();
  }
}

type FrozenModels = Awaited<ReturnType<typeof openFrozenModels>>;
type RecordedAttempt = ReturnType<ReturnType<typeof modelFactory>>;
type Attempt = Omit<
  WorkflowDebugReport,
  'model' | 'outputDirectory' | 'files' | 'servedAt' | 'strayErrors' | 'notices'
>;

async function recordAttempt(
  { stage, extensions, runtime, signal }: FrozenContext,
  task: Task,
  models: FrozenModels,
): Promise<Attempt> {
  const { clock } = runtime;
  const { format } = models;
  const recorder = recordTurns(models.sampler, format, clock);
  const rewards: TimeRange[] = [];
  // Prompts are stored as text too, so that records can be read without the tokenizer.
  const readable = { ...stage, trainer: { ...stage.trainer, enablePreview: true } };
  const parts = { ...models, sampler: recorder.sampler };
  const createModel = modelFactory(readable, runtime, parts);
  let attempt: RecordedAttempt | undefined;
  const start = clock.now();
  const outcome = await runOnce(task, {
    definition: extensions.workflows.get(task.workflow),
    rewardFn: timed(rewardFnFinder(extensions.rewardFns)(task), clock, rewards),
    createModel: (key) => (attempt = createModel(key)),
    settings: { maxTimeoutMs: stage.explorer.maxTimeoutMs, maxRetryTimes: 0 },
    runtime,
    signal: AbortSignal.any([signal, models.engineFailed]),
  });
  const end = clock.now();
  const turns = recorder.turns();
  return {
    task,
    tokenizer: format.tokenizer,
    seconds: (end - start) / 1000,
    ...resultOf(outcome, task, attempt),
    turns,
    forks: attempt?.model.forks() ?? [],
    spans: toSpans({ start, end, turns, rewards, name: task.workflow }),
  };
}

function resultOf(
  outcome: RunOutcome,
  task: Task,
  attempt: RecordedAttempt | undefined,
): Pick<Attempt, 'experiences' | 'reward' | 'metrics' | 'error'> {
  if (outcome.status === 'failed') {
    const recorded = attempt
      ? [...attempt.model.extracted(), ...attempt.model.extractExperiencesFromHistory()]
      : [];
    const eid = { batch: task.batchId, task: task.taskId, run: 0 };
    const experiences = recorded.map((experience) =>
      withFields(experience, { eid: { ...experience.eid, ...eid } }),
    );
    return { experiences, metrics: attempt?.metrics() ?? {}, error: outcome.error };
  }
  const { experiences, reward, metrics } = outcome;
  return { experiences, metrics, reward: Number.isFinite(reward) ? reward : undefined };
}

/** Wraps the reward function so that the time of each call is added to `times`. */
function timed(
  rewardFn: RewardFn | undefined,
  clock: Clock,
  times: TimeRange[],
): RewardFn | undefined {
  return (
    rewardFn &&
    (async (input) => {
      const start = clock.now();
      try {
        return await rewardFn(input);
      } finally {
        times.push({ start, end: clock.now() });
      }
    })
  );
}
