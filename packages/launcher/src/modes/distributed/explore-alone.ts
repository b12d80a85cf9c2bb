/**
 * Lets an explorer plan the explore steps while there is no trainer. A trainer that joins later
 * draws the same tasks.
 */
import { ConfigError, WorkflowError, type Runtime } from '@trinity-rft/core';
import type { Closable } from '@trinity-rft/core/support';
import type { Agreement, JsonState, MemberInfo, RunStore } from '@trinity-rft/core/store';
import type { ExploreProgress, TaskOutcome } from '@trinity-rft/explorer';
import type { StageConfig } from '@trinity-rft/config';
import type { StageTasks } from '../../assembly/data/tasks.js';
import { hasFailed, remoteTasks, type RemoteTasks } from './remote-tasks.js';
import { lookEveryMs } from './open-store.js';
import type { JoinedRun } from './join-run.js';

/** State that an explorer without a trainer stores with each plan. */
interface Alone extends JsonState {
  readonly alone: true;
  /**
   * State of the task feed before the step. A restarted explorer draws the same tasks from this
   * state.
   */
  readonly before: JsonState;
  readonly agreement: Agreement;
}

/**
 * Returns the last planned explore step, with its state, if an explorer planned it without a
 * trainer. Returns undefined otherwise.
 */
async function lastStepAlone(
  store: Pick<RunStore, 'lastPlan'>,
): Promise<(Alone & { readonly step: number }) | undefined> {
  const last = await store.lastPlan();
  return last?.feed['alone'] === true ? { ...(last.feed as Alone), step: last.step } : undefined;
}

/**
 * Returns the last explore step that an explorer has planned without a trainer, so that this
 * process can continue after it. Returns undefined if there is no such step.
 * @throws ConfigError when the settings of this process differ from those of that explorer, because
 * this process would draw other tasks
 */
export async function exploredAlone(
  store: Pick<RunStore, 'lastPlan'>,
  { role, agreement }: Pick<MemberInfo, 'role'> & { readonly agreement: Agreement },
): Promise<Awaited<ReturnType<typeof lastStepAlone>>> {
  const last = await lastStepAlone(store);
  if (!last) return undefined;
  for (const key of Object.keys({ ...last.agreement, ...agreement }).toSorted()) {
    const { [key]: own = 'not set' } = agreement;
    const { [key]: other = 'not set' } = last.agreement;
    if (own !== other)
      throw new ConfigError(
        `The ${role} cannot join the run: its ${key} is ${own}, and that of the explorer that has explored alone is ${other}. Give both the same configuration, or this one a name of its own (name).`,
        { code: 'MEMBER_DIFFERS' },
      );
  }
  return last;
}

export interface ExploreAloneOptions {
  readonly stage: StageConfig;
  readonly runtime: Runtime;
  /**
   * Time in ms that the explorer waits for a trainer before it explores alone. @default no limit
   */
  readonly aloneAfterMs?: number;
  readonly say: (line: string) => void;
  readonly onProgress: (progress: ExploreProgress) => void;
  readonly signal: AbortSignal;
  readonly store: RunStore;
  readonly joined: Pick<JoinedRun, 'member'>;
  readonly tasks: Pick<StageTasks, 'feed' | 'exploreSteps'>;
  readonly agreement: Agreement;
}

export interface ExplorerAlone extends Closable {
  /**
   * Returns true once the explorer has begun to plan explore steps itself. It then samples with the
   * initial weights until a trainer publishes weights.
   */
  readonly isAlone: () => boolean;
  /** Returns true if the results of all explore steps are stored. */
  readonly isDone: () => boolean;
  /** Signal that aborts with the error that stopped the planning. */
  readonly failed: AbortSignal;
}

/** Starts to plan explore steps, one at a time, if no trainer joins within `aloneAfterMs`. */
export function exploreAlone(options: ExploreAloneOptions): ExplorerAlone {
  const failure = new AbortController();
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const state = { isAlone: false, isDone: false };
  const planning = planAlone({ ...options, signal }, () => {
    state.isAlone = true;
  }).then(
    (isDone) => {
      state.isDone = isDone;
    },
    (error: unknown) => {
      if (!signal.aborted) failure.abort(error);
    },
  );
  return {
    isAlone: () => state.isAlone,
    isDone: () => state.isDone,
    failed: failure.signal,
    close: async () => {
      over.abort();
      await planning;
    },
  };
}

/**
 * Plans explore steps and waits for the results of each.
 * @returns true if every explore step has its results; false if the training run has or needs a
 * trainer
 * @throws WorkflowError when every rollout of a step failed in all attempts
 */
async function planAlone(options: ExploreAloneOptions, onBegin: () => void): Promise<boolean> {
  const { stage, store, joined, tasks, agreement, say, onProgress, signal } = options;
  const { clock, logger } = options.runtime;
  const last = await lastStepAlone(store);
  if (!(await isWithoutTrainer(options, last))) return false;
  const { feed, exploreSteps } = tasks;
  say(
    `No trainer takes part in the run: this explorer explores ${exploreSteps} steps alone, with the weights that the run starts from.`,
  );
  onBegin();
  if (last) feed.restore(last.before);
  const plan = { before: feed.state() };
  const { overRollout } = stage.explorer;
  // Waits for results are not reported here, because the explorer reports its own waits.
  const own = { member: joined.member, waitFor: <T>(_: unknown, work: () => Promise<T>) => work() };
  const open = (): Promise<RemoteTasks> =>
    remoteTasks({
      ...{ store, clock, lookEveryMs, joined: own, overRollout, version: () => 0 },
      feed: () => ({ alone: true, ...plan, agreement }) satisfies Alone,
    });
  let remote = await open();
  for (let step = last?.step ?? 1; step <= exploreSteps; step++) {
    if (await hasTrainer(store)) {
      say('A trainer has joined: it plans the tasks from here on.');
      return false;
    }
    plan.before = feed.state();
    const drawn = await feed.next(step);
    if (drawn.length === 0) break;
    onProgress({ what: `explore step ${step} of ${exploreSteps}`, total: drawn.length });
    let outcomes = await remote.run(drawn, signal);
    for (let attempt = 2; outcomes.every(hasFailed); attempt++) {
      if (attempt > maxAttempts) throw allFailed(step, outcomes);
      // A new reader repeats failed batches that were already complete when the reader was opened.
      remote = await open();
      outcomes = await remote.run(drawn, signal);
    }
    remote.takeCollected(step);
    logger.info(`Explore step ${step} of ${exploreSteps} is stored.`);
  }
  await sayEnd(options);
  return true;
}

/** Maximum number of attempts at an explore step whose rollouts all fail. */
const maxAttempts = 3;

function allFailed(step: number, outcomes: readonly TaskOutcome[]): WorkflowError {
  const runs = outcomes.flatMap((outcome) => outcome.runs);
  const first = runs.find(({ status }) => status === 'failed');
  return new WorkflowError(
    `All ${runs.length} runs of explore step ${step} failed, ${maxAttempts} times. Start the explorer again, which continues with this step, when the cause of the first failure is fixed.`,
    {
      code: 'ALL_RUNS_FAILED',
      details: { step, runs: runs.length },
      cause: first?.status === 'failed' ? first.error : undefined,
    },
  );
}

/**
 * Waits until the explorer may explore alone, and returns true. Returns false if a trainer has
 * joined the training run or was part of it before.
 */
async function isWithoutTrainer(
  { stage, runtime, aloneAfterMs = Infinity, store, say, signal }: ExploreAloneOptions,
  last: object | undefined,
): Promise<boolean> {
  if (aloneAfterMs === Infinity) return false;
  const { clock, logger } = runtime;
  const hasBegun = async (): Promise<boolean> =>
    (await hasTrainer(store)) ||
    (await store.publishedWeights()) !== undefined ||
    (last === undefined && (await store.lastPlan()) !== undefined);
  const start = clock.now();
  // An explorer that has explored alone before does not wait again after a restart.
  const patienceMs = last ? 0 : aloneAfterMs;
  if (patienceMs > 0 && !(await hasBegun()))
    say(
      `No trainer takes part in the run. Without one, this explorer explores alone in ${patienceMs / 1000} s; --alone begins at once.`,
    );
  while (!(await hasBegun())) {
    const left = patienceMs - (clock.now() - start);
    const problem = left > 0 ? undefined : needsTrainer(stage);
    if (left <= 0 && problem === undefined) return true;
    if (problem !== undefined) {
      logger.warn(`${problem} It waits for a trainer: trinity run FILE --mode train.`);
      return false;
    }
    await clock.sleep(Math.min(left, lookEveryMs), signal);
  }
  if (aloneAfterMs === 0)
    logger.warn('--alone has no effect: the run has a trainer, which plans the tasks.');
  return false;
}

async function hasTrainer(store: Pick<RunStore, 'view'>): Promise<boolean> {
  const { members, end } = await store.view();
  return end !== undefined || members.some(({ role, isAlive }) => role === 'trainer' && isAlive);
}

/**
 * Returns the reason why the tasks of the stage cannot be planned without a trainer, or undefined
 * if they can.
 */
export function needsTrainer({ dataProcessor, explorer, buffer }: StageConfig): string | undefined {
  const cause = dataProcessor.taskPipeline
    ? 'data_processor.task_pipeline makes its tasks where the trainer is'
    : explorer.dynamicSampling.enable
      ? 'dynamic sampling draws tasks by what the trainer keeps'
      : buffer.explorerInput.tasksets.some(
            ({ dataSelector }) => dataSelector.selectorType === 'difficulty_based',
          )
        ? 'selector_type difficulty_based orders tasks by what the trainer keeps'
        : undefined;
  return cause && `An explorer cannot explore this run alone: ${cause}.`;
}

async function sayEnd({ store, say, runtime }: ExploreAloneOptions): Promise<void> {
  const { experiences, awaitedRuns } = await store.view();
  if (awaitedRuns > 0)
    runtime.logger.warn(
      `${awaitedRuns} runs still wait for their rewards, which reach the run while an explorer or its trainer is at work.`,
    );
  say(
    `All explore steps are in the store, with ${experiences.total} experiences. To train on them: trinity run FILE --mode train.`,
  );
}
