/**
 * The explore loop: read tasks, run their workflows, turn rewards into advantages, store the
 * experiences, fetch new weights, evaluate.
 */
import type { Metrics, Task } from '@trinity-rft/core';
import pLimit from 'p-limit';
import { evaluate, isEvalStep } from './evaluation.js';
import type { ExplorerOptions, ExplorerState, ExploreSync } from './explorer-options.js';
import { createFailureGuard, type FailureGuard } from './failure-guard.js';
import { rolloutMetrics } from './metrics/rollout-metrics.js';
import { runPipeline } from './pipeline.js';
import { isOk, type TaskOutcome } from './runs/outcome.js';
import { assertNotStopped, createInstancePool } from './runs/run-attempt.js';
import { runTask } from './runs/run-task.js';
import { exploreStreaming, type StreamingOptions } from './streaming.js';
import { createStepWarnings, type StepWarnings } from './warnings.js';

export interface Explorer {
  /**
   * Explores until the tasks end, from `state` on if it is given. Resolves with the number of
   * explore steps made.
   * @throws CancelledError when stopped, WorkflowError when every run of several steps failed
   */
  run(state?: ExplorerState): Promise<number>;
  /** Evaluates all sets with the weights in use; metrics under `<prefix>/<set>/`. */
  evaluate(step: number, prefix?: string): Promise<Metrics>;
}

/** Runs the workflows of a run's tasks. Does nothing before `run` or `evaluate`. */
export function createExplorer(options: ExplorerOptions): Explorer {
  const parts: ExplorerParts = {
    ...options,
    runTasks: taskRunner(options),
    failureGuard: createFailureGuard(options.store),
    warnings: createStepWarnings(options.runtime.logger),
    syncMetrics: {},
  };
  return {
    run: (state) => explore(parts, state),
    evaluate: (step, prefix) => evaluate(parts, step, prefix),
  };
}

interface ExplorerParts extends ExplorerOptions {
  readonly runTasks: (tasks: readonly Task[]) => Promise<readonly TaskOutcome[]>;
  readonly failureGuard: FailureGuard;
  readonly warnings: StepWarnings;
  /** Metrics of the last boundary; written with those of the next explore step. */
  syncMetrics: Metrics;
}

/** At most `concurrency` attempts are in flight, whichever steps and evaluations they belong to. */
function taskRunner(options: ExplorerOptions): ExplorerParts['runTasks'] {
  const { settings, createModel, runtime, signal } = options;
  const limit = pLimit(settings.concurrency);
  const shared = { createModel, settings, limit, pool: createInstancePool(), runtime, signal };
  return (tasks) =>
    Promise.all(
      tasks.map((task) =>
        runTask(task, {
          ...shared,
          definition: options.workflow(task.workflow),
          rewardFn: options.rewardFn(task),
        }),
      ),
    );
}

async function explore(parts: ExplorerParts, state: ExplorerState | undefined): Promise<number> {
  const { feed, sync, settings, failureGuard } = parts;
  let step = state?.step ?? 0;
  failureGuard.start(state ?? stateAt(parts, step));
  if (state) feed.restore(state.feed);
  else if (settings.evalOnStartup) await recordEvaluation(parts, step);
  // A resumed explorer that stood at a boundary has not fetched the weights of that boundary yet.
  if (state && sync.isBoundary(step)) await fetchWeights(parts, step);
  if (sync.streaming) step = await exploreStreaming(streamingOptions(parts, sync.streaming), step);
  else step = await exploreBetweenBoundaries(parts, step);
  await failureGuard.end();
  return step;
}

async function exploreBetweenBoundaries(parts: ExplorerParts, lastStep: number): Promise<number> {
  const { sync, signal } = parts;
  let step = lastStep;
  for (;;) {
    assertNotStopped(signal);
    const explored = await exploreToBoundary(parts, step);
    const advanced = explored.step > step;
    step = explored.step;
    if (advanced && sync.isBoundary(step)) await fetchWeights(parts, step);
    if (explored.ended) return step;
  }
}

/** An explore step whose runs are in flight. */
interface ExploreStep {
  readonly step: number;
  /** On the clock, in milliseconds. */
  readonly start: number;
  readonly outcomes: Promise<readonly TaskOutcome[]>;
  /** To resume after this step. */
  readonly state: ExplorerState;
}

/**
 * Explores the steps after `lastStep`, up to and including the next one at which weights may move
 * or an evaluation is due. Up to `maxInflightBatches` of them are in flight together; they are
 * finished in order. `ended`: the tasks or `maxSteps` are used up.
 */
async function exploreToBoundary(
  parts: ExplorerParts,
  lastStep: number,
): Promise<{ readonly step: number; readonly ended: boolean }> {
  const { sync, settings, maxSteps = Infinity } = parts;
  const { maxInflightBatches = Infinity } = settings;
  const inFlight: ExploreStep[] = [];
  let step = lastStep;
  let ended = false;
  // No step starts before an evaluation is done: it must not share the model with later runs.
  const atBoundary = (): boolean =>
    step > lastStep && (sync.isBoundary(step) || isEvalStep(parts, step));
  for (;;) {
    while (!ended && !atBoundary() && inFlight.length < maxInflightBatches) {
      const started = step < maxSteps ? await startStep(parts, step + 1) : undefined;
      ended = !started;
      if (!started) break;
      inFlight.push(started);
      step = started.step;
    }
    const oldest = inFlight.shift();
    if (!oldest) return { step, ended };
    await finishStep(parts, oldest);
  }
}

const defaultStreamingBatches = 2;

function streamingOptions(
  parts: ExplorerParts,
  streaming: NonNullable<ExploreSync['streaming']>,
): StreamingOptions<ExploreStep> {
  const { settings, maxSteps = Infinity, runtime, signal } = parts;
  let lastVersion: number | undefined;
  let idleMs = 0;
  return {
    streaming,
    most: settings.maxInflightBatches ?? defaultStreamingBatches,
    start: async (step) => (step <= maxSteps ? startStep(parts, step) : undefined),
    ended: ({ outcomes }) => outcomes,
    finish: (step) => {
      const { policyVersion } = step.state;
      parts.syncMetrics = {
        'rollout/sync/updated': (lastVersion ?? policyVersion) === policyVersion ? 0 : 1,
        'time/sync_weight': idleMs / 1000,
      };
      lastVersion = policyVersion;
      idleMs = 0;
      return finishStep(parts, step);
    },
    idle: async (wait) => {
      const start = runtime.clock.now();
      const result = await wait();
      idleMs += runtime.clock.now() - start;
      return result;
    },
    signal,
  };
}

/** Undefined when the tasks have ended. */
async function startStep(parts: ExplorerParts, step: number): Promise<ExploreStep | undefined> {
  const tasks = await parts.feed.next(step);
  if (tasks.length === 0) return undefined;
  const start = parts.runtime.clock.now();
  const outcomes = parts.runTasks(tasks);
  // Awaited when the step is finished; until then a failure must not count as unhandled.
  outcomes.catch(() => undefined);
  return { step, start, outcomes, state: stateAt(parts, step) };
}

/**
 * Called one step at a time, in order. Records the step before it is stored: a step that was not
 * stored is re-run after a crash and logged again. A step after which an evaluation is due is the
 * last one in flight (see {@link exploreToBoundary}), so the evaluation uses the weights of the step.
 */
async function finishStep(
  parts: ExplorerParts,
  { step, start, outcomes: pending, state }: ExploreStep,
): Promise<void> {
  const { settings, store, sink, warnings, runtime } = parts;
  const outcomes = await pending;
  const seconds = (runtime.clock.now() - start) / 1000;

  const collected = outcomes.flatMap(({ runs }) =>
    runs.filter(isOk).flatMap((run) => run.experiences),
  );
  const { operators, advantage } = parts;
  const { experienceShape } = settings;
  const { experiences, metrics } = runPipeline(collected, {
    operators,
    advantage,
    experienceShape,
  });

  const rollout = rolloutMetrics(outcomes, state.policyVersion);
  warnings.experiencesStored(collected.length, experiences.length);
  warnings.groupsCompared(rollout['rollout/identical_group_share']);
  warnings.rewardsDiffer(metrics['experience_pipeline/group_advantages/uneven_runs']);
  sink.write({
    role: 'explorer',
    step,
    metrics: { ...rollout, ...metrics, ...parts.syncMetrics, 'time/wait_explore_step': seconds },
  });
  parts.syncMetrics = {};
  if (isEvalStep(parts, step)) await recordEvaluation(parts, step);

  parts.onExplored?.(step, experiences);
  await store.put(experiences, { ...state });
  parts.sync.exploreStepStored?.(step);
  await parts.failureGuard.stepDone(outcomes, state);
}

async function recordEvaluation(parts: ExplorerParts, step: number): Promise<void> {
  if (parts.evalSets.length === 0) return;
  const { streaming } = parts.sync;
  const work = (): Promise<Metrics> => evaluate(parts, step);
  const metrics = await (streaming ? streaming.withSteadyWeights(work) : work());
  parts.sink.write({ role: 'explorer', step, metrics });
}

/** Meets the trainer after explore step `step`, with no run in flight. */
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

function stateAt({ feed, policyVersion }: ExplorerParts, step: number): ExplorerState {
  return { step, policyVersion: policyVersion(), feed: feed.state() };
}
