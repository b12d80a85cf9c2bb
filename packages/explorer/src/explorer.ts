/**
 * The explore loop. It reads tasks, executes their workflows, computes advantages from rewards,
 * stores the experiences, switches to new weights, and evaluates.
 */
import type { Metrics, Task } from '@trinity-rft/core';
import { createBatchFiller, type BatchFiller } from './dynamic-sampling.js';
import { evaluate, isEvalStep } from './evaluation.js';
import type { ExplorerOptions, ExplorerState } from './explorer-options.js';
import { createLateGroups, type LateGroups } from './late-groups.js';
import { createFailureGuard, type FailureGuard } from './failure-guard.js';
import { createFeedbackLine, type FeedbackLine } from './feedback.js';
import { cutOffMetrics, rolloutMetrics } from './metrics/rollout-metrics.js';
import { exploredOf, type Explored } from './pipeline.js';
import { createEnvironmentCircuits } from './runs/environment-circuits.js';
import type { TaskOutcome } from './runs/outcome.js';
import { assertNotStopped } from './runs/run-attempt.js';
import { rewardDeadline } from './runs/reward-deadline.js';
import { taskStarter } from './runs/start-task.js';
import { createTimeLimits, type TimeLimits } from './runs/time-limits.js';
import { usableOutcome, waitForEnough, type UsableOutcome } from './runs/wait-for-enough.js';
import { createStream } from './streaming.js';
import { createStepWarnings, type StepWarnings } from './warnings.js';

export interface Explorer {
  /**
   * Explores until the tasks run out or `maxSteps` is reached, starting from `state` if it is
   * given. Resolves with the last explore step.
   * @throws CancelledError when stopped, WorkflowError if every rollout of several consecutive steps
   * failed, and the errors of `RunningTask.outcome`
   */
  run(state?: ExplorerState): Promise<number>;
  /** Evaluates all sets with the weights in use. Returns metrics under `<prefix>/<set>/`. */
  evaluate(step: number, prefix?: string): Promise<Metrics>;
}

/**
 * Creates an explorer, which executes the workflows of a training run's tasks. Does nothing before
 * `run` or `evaluate` is called.
 */
export function createExplorer(options: ExplorerOptions): Explorer {
  const timeLimits = createTimeLimits(options.settings);
  const parts: ExplorerParts = {
    ...options,
    ...(remoteTaskRunner(options) ?? localTaskRunner(options, timeLimits)),
    timeLimits,
    filler: createBatchFiller(options.dynamicSampling, options.runtime.logger),
    late: createLateGroups(options),
    failureGuard: createFailureGuard(options.store),
    warnings: createStepWarnings(options.runtime.logger),
    feedbackLine: createFeedbackLine(options.feed),
    syncMetrics: {},
  };
  return {
    run: (state) => explore(parts, state),
    evaluate: (step, prefix) => evaluate(parts, step, prefix),
  };
}

interface ExplorerParts extends Omit<ExplorerOptions, 'runTasks'>, TaskRunner {
  readonly timeLimits: TimeLimits;
  readonly filler: BatchFiller;
  readonly late: LateGroups;
  readonly failureGuard: FailureGuard;
  readonly feedbackLine: FeedbackLine;
  readonly warnings: StepWarnings;
  /**
   * Metrics of the last weight update, or of the last step in streaming. They are written with the
   * metrics of the next explore step.
   */
  syncMetrics: Metrics;
}

interface TaskRunner {
  /** Executes the rollouts of all tasks. @param what see `ExploreProgress` */
  readonly runTasks: (tasks: readonly Task[], what: string) => Promise<readonly TaskOutcome[]>;
  /** Executes the rollouts of an explore step. The slowest tasks may be cut off. */
  readonly exploreTasks: (
    tasks: readonly Task[],
    what: string,
  ) => Promise<readonly UsableOutcome[]>;
  /**
   * Returns the number of results that arrived after their attempt had ended, and resets it to 0.
   */
  readonly takeLateResults: () => number;
}

/**
 * Creates a runner that delegates rollouts to other processes. They apply the over-rollout cut-offs
 * and count late results. Returns undefined if the explorer makes the rollouts itself.
 */
function remoteTaskRunner({
  runTasks,
  settings,
  signal,
  onProgress,
}: ExplorerOptions): TaskRunner | undefined {
  if (!runTasks) return undefined;
  const { overRollout = { returnPartialTasks: false } } = settings;
  const run: TaskRunner['runTasks'] = async (tasks, what) => {
    const total = countRuns(tasks);
    onProgress?.({ what, total });
    const outcomes = await runTasks(tasks, signal);
    onProgress?.({ what, total, done: total });
    return outcomes;
  };
  return {
    runTasks: run,
    exploreTasks: async (tasks, what) =>
      (await run(tasks, what)).map((outcome) => usableOutcome(outcome, overRollout)),
    takeLateResults: () => 0,
  };
}

/**
 * Creates a runner that executes rollouts in the explorer's process. At most `concurrency` attempts
 * are in progress, over all steps and evaluations together.
 */
function localTaskRunner(options: ExplorerOptions, timeLimits: TimeLimits): TaskRunner {
  const { settings, runtime, onPause } = options;
  const circuits = options.circuits ?? createEnvironmentCircuits({ settings, onPause, ...runtime });
  let late = 0;
  const startTask = taskStarter({
    ...options,
    circuits,
    timeLimit: (task) => timeLimits.limit(task),
    onLateResult: () => void late++,
    rewardDeadline: options.store.lateRewards && rewardDeadline(settings, runtime.clock),
  });
  const { overRollout = { ratio: 0, waitAfterMinMs: 0, returnPartialTasks: false } } = settings;
  return {
    runTasks: (tasks, what) => {
      const ended = runCounter(tasks, what, options.onProgress);
      return Promise.all(tasks.map((task) => startTask(task, ended).outcome));
    },
    exploreTasks: async (tasks, what) => {
      const ended = runCounter(tasks, what, options.onProgress);
      const running = tasks.map((task) => startTask(task, ended));
      const outcomes = await waitForEnough(running, overRollout, circuits.clock);
      return outcomes.map((outcome) => usableOutcome(outcome, overRollout));
    },
    takeLateResults: () => {
      const taken = late;
      late = 0;
      return taken;
    },
  };
}

const countRuns = (tasks: readonly Task[]): number =>
  tasks.reduce((sum, { repeatTimes }) => sum + repeatTimes, 0);

function runCounter(
  tasks: readonly Task[],
  what: string,
  onProgress: ExplorerOptions['onProgress'],
): (count: number) => void {
  const total = countRuns(tasks);
  let done = 0;
  onProgress?.({ what, done, total });
  return (count) => {
    done += count;
    onProgress?.({ what, done, total });
  };
}

async function explore(parts: ExplorerParts, state: ExplorerState | undefined): Promise<number> {
  const { sync, settings, failureGuard } = parts;
  let step = state?.step ?? 0;
  failureGuard.start({ ...(state ?? stateAt(parts, step)), evaluationDue: false });
  if (state) restore(parts, state);
  else if (settings.evalOnStartup) await recordEvaluation(parts, step);
  if (state?.evaluationDue) {
    await makeDueEvaluation(parts, state);
    sync.exploreStepStored?.(step);
  }
  // An explorer that was stopped at a boundary has not fetched the weights of that boundary yet.
  if (state && sync.isBoundary(step)) await fetchWeights(parts, step);
  step = await exploreSteps(parts, step);
  await finishLateGroups(parts, step);
  await failureGuard.end();
  return step;
}

/** An explore step whose rollouts are in progress. */
interface ExploreStep {
  readonly step: number;
  /** Clock time at the start, in milliseconds. */
  readonly start: number;
  readonly outcomes: Promise<readonly UsableOutcome[]>;
  /** State from which a training run resumes after this step. */
  readonly state: ExplorerState;
  /** The last explore step whose results were known when this step was planned. */
  readonly plannedAfter: number;
}

/**
 * Makes the explore steps after `lastStep` until the tasks run out or `maxSteps` is reached.
 * Resolves with the last step. Several steps may be in progress, but they are finished in order.
 * If the style does not stream, a step beyond a boundary starts only when all earlier steps are
 * finished: weights may change at a boundary, and an evaluation must not overlap later rollouts.
 */
async function exploreSteps(parts: ExplorerParts, lastStep: number): Promise<number> {
  const { sync, dynamicSampling, settings, runtime, signal } = parts;
  const stream = sync.streaming && createStream(sync.streaming, runtime.clock, signal);
  // With dynamic sampling, the number of tasks of a step is known only at its end, so no later step
  // is started before that.
  const most = dynamicSampling ? 1 : (settings.maxInflightBatches ?? (stream ? 2 : Infinity));
  const inFlight: ExploreStep[] = [];
  let step = lastStep;
  let ended = false;
  const mayBegin = (): boolean =>
    stream?.mayBegin(step + 1) ?? (inFlight.length === 0 || !isBoundary(parts, step));
  for (;;) {
    assertNotStopped(signal);
    while (!ended && inFlight.length < most && mayBegin()) {
      const started = await startStep(parts, step + 1);
      if (started) inFlight.push(started);
      ended = !started;
      step = started?.step ?? step;
    }
    const [oldest] = inFlight;
    const hasRoom = !ended && inFlight.length < most;
    if (!oldest && !hasRoom) return step;
    if (!oldest) await stream?.idle(step + 1);
    else if (!hasRoom || !(await stream?.mayBeginFirst(step + 1, oldest.outcomes))) {
      if (stream) parts.syncMetrics = stream.metrics(oldest.state.policyVersion);
      await finishStep(parts, oldest);
      inFlight.shift();
      if (inFlight.length === 0 && sync.isBoundary(step)) await fetchWeights(parts, step);
    }
  }
}

const isBoundary = (parts: ExplorerParts, step: number): boolean =>
  parts.sync.isBoundary(step) || isEvalStep(parts, step);

/** Starts an explore step. Returns undefined if there are no more tasks. */
async function startStep(parts: ExplorerParts, step: number): Promise<ExploreStep | undefined> {
  const { sync } = parts;
  if (sync.streaming || sync.isSyncPoint(step - 1) || isEvalStep(parts, step - 1))
    parts.feedbackLine.pass();
  if (step > (parts.maxSteps ?? Infinity)) return undefined;
  const tasks = await parts.feed.next(step, parts.filler.firstDraw());
  if (tasks.length === 0) return undefined;
  const start = parts.runtime.clock.now();
  const outcomes = parts.exploreTasks(tasks, `explore step ${step}`);
  // The promise is awaited when the step is finished. Before that, a failure must not be reported
  // as unhandled.
  outcomes.catch(() => undefined);
  const plannedAfter = parts.feedbackLine.passedUpTo();
  return { step, start, outcomes, state: stateAt(parts, step), plannedAfter };
}

/**
 * Finishes an explore step. It is called for one step at a time, in order. The step's metrics are
 * written before the step is stored. If storing fails, the step is repeated after the crash and its
 * metrics are written again. An evaluation that is due after the step is made once the step is
 * stored, so that its failure loses no rollouts, and before the trainer gets the step. In the style
 * `fixed`, the evaluation uses the weights of the step, because this step is then the last one in
 * flight, see {@link exploreSteps}.
 */
async function finishStep(
  parts: ExplorerParts,
  { step, start, outcomes: pending, state: stateBefore, plannedAfter }: ExploreStep,
): Promise<void> {
  const { store, sink, runtime, filler, timeLimits, feedbackLine } = parts;
  const ended = await pending;
  const options = { ...parts, late: parts.late.take(step) };
  const explored = await filler.fill(exploredOf(ended, options), step, options);
  const { outcomes, experiences } = explored;
  const seconds = (runtime.clock.now() - start) / 1000;

  const metrics = stepMetrics(parts, explored, stateBefore);
  timeLimits.record(outcomes);
  parts.late.setAside(step, outcomes);
  // With dynamic sampling, this step is the only one in progress, so all tasks drawn so far belong
  // to it.
  const feed = parts.dynamicSampling ? parts.feed.state() : stateBefore.feed;
  const feedback = feedbackLine.add(step, plannedAfter, explored.feedback);
  const state = { ...stateBefore, ...ownState(parts), feed, feedback };
  sink.write({
    role: 'explorer',
    step,
    metrics: { ...metrics, ...parts.syncMetrics, 'time/wait_explore_step': seconds },
  });
  parts.syncMetrics = {};

  parts.onExplored?.(step, experiences);
  const evaluationDue = isEvalStep(parts, step);
  if (evaluationDue) parts.sync.hold?.(step);
  await store.put(experiences, { ...state, evaluationDue });
  parts.late.commit(step);
  if (evaluationDue) await makeDueEvaluation(parts, state);
  parts.sync.exploreStepStored?.(step);
  await parts.failureGuard.stepDone(outcomes, state);
}

/**
 * Stores groups that still waited for rewards when the tasks ended, as one more batch after the
 * last explore step.
 */
async function finishLateGroups(parts: ExplorerParts, step: number): Promise<void> {
  const { late, feedbackLine, store, sink, signal } = parts;
  if (!late.waiting()) return;
  await late.untilDue(signal);
  // No step is in progress, so the stored feed may have all results.
  feedbackLine.pass();
  const collected = late.take(step + 1);
  const { experiences, metrics } = exploredOf([], { ...parts, late: collected });
  sink.write({ role: 'explorer', step: step + 1, metrics: { ...late.metrics(), ...metrics } });
  parts.onExplored?.(step + 1, experiences);
  await store.put(experiences, { ...stateAt(parts, step) });
  late.commit(step);
}

function stepMetrics(
  { settings, warnings, filler, late, timeLimits, takeLateResults }: ExplorerParts,
  { outcomes, collected, experiences, metrics }: Explored,
  { policyVersion }: ExplorerState,
): Metrics {
  const rollout = rolloutMetrics(outcomes, policyVersion);
  warnings.experiencesStored(collected.length, experiences.length);
  warnings.groupsCompared(rollout['rollout/identical_group_share']);
  warnings.rewardsDiffer(metrics['experience_pipeline/group_advantages/uneven_runs']);
  warnings.callsUnread({
    unread: rollout['rollout/model/unread_tool_calls/mean'],
    read: rollout['rollout/model/tool_calls/mean'],
  });
  warnings.statesCompared(metrics['experience_pipeline/gigpo/anchor_groups_total']);
  warnings.statsUnused(
    Object.entries(metrics).some(([key, n]) => key.endsWith('/unused_stats_count') && n > 0),
  );
  const cutOff =
    (settings.overRollout?.ratio ?? 0) > 0 ? cutOffMetrics(outcomes, takeLateResults()) : {};
  const limits = timeLimits.metrics(outcomes.map(({ task }) => task));
  return { ...rollout, ...cutOff, ...limits, ...filler.metrics(), ...late.metrics(), ...metrics };
}

async function recordEvaluation(parts: ExplorerParts, step: number): Promise<void> {
  if (parts.evalSets.length === 0) return;
  const { sync } = parts;
  const work = (): Promise<Metrics> => evaluate(parts, step);
  const metrics = await (sync.withSteadyWeights?.(work) ?? work());
  parts.sink.write({ role: 'explorer', step, metrics });
}

/** Makes the evaluation that is due after the step of `state`, and stores that it is recorded. */
async function makeDueEvaluation(parts: ExplorerParts, state: ExplorerState): Promise<void> {
  await recordEvaluation(parts, state.step);
  await parts.store.put([], { ...state, evaluationDue: false });
}

/** Synchronizes with the trainer after explore step `step`, when no rollout is in progress. */
async function fetchWeights(parts: ExplorerParts, step: number): Promise<void> {
  const { sync, runtime, signal } = parts;
  const start = runtime.clock.now();
  const { outcome } = await sync.exploreBoundary(step, signal);
  parts.syncMetrics = {
    'rollout/sync/updated': outcome === 'updated' ? 1 : 0,
    'rollout/sync/starved': outcome === 'starved' ? 1 : 0,
    'time/sync_weight': (runtime.clock.now() - start) / 1000,
  };
}

function stateAt(parts: ExplorerParts, step: number): ExplorerState {
  return {
    step,
    policyVersion: parts.policyVersion(),
    feed: parts.feed.state(),
    ...ownState(parts),
  };
}

/** Returns the state of the parts that change only when a step is finished. */
function ownState({
  timeLimits,
  filler,
  late,
}: ExplorerParts): Pick<ExplorerState, 'timeLimits' | 'carried' | 'waiting'> {
  return { timeLimits: timeLimits.state(), carried: filler.carried(), waiting: late.waiting() };
}

function restore(
  { feed, feedbackLine, timeLimits, filler, late }: ExplorerParts,
  state: ExplorerState,
): void {
  feed.restore(state.feed);
  feedbackLine.restore(state.step, state.feedback ?? []);
  if (state.timeLimits) timeLimits.restore(state.timeLimits);
  filler.restore(state.carried ?? 0);
  late.restore(state.step, state.waiting ?? []);
}
