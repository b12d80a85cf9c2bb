/**
 * The explore loop: read tasks, run their workflows, turn rewards into advantages, store the
 * experiences, fetch new weights.
 */
import {
  CancelledError,
  prefixMetrics,
  type AdvantageFn,
  type Experience,
  type ExperienceOperator,
  type ExperienceShape,
  type ExperienceStore,
  type JsonState,
  type MetricSink,
  type Metrics,
  type RewardFn,
  type Runtime,
  type Task,
} from '@trinity-rft/core';
import type { WorkflowDefinition } from '@trinity-rft/workflow';
import pLimit from 'p-limit';
import { createDespair } from './failure-guard.js';
import { evalMetrics } from './metrics/eval-metrics.js';
import { createDropWatch } from './empty-steps.js';
import { createGroupWatch } from './metrics/identical-groups.js';
import { runPipeline } from './pipeline.js';
import { isOk, rolloutMetrics } from './metrics/rollout-metrics.js';
import {
  createInstancePool,
  runTask,
  type AttemptKey,
  type AttemptModel,
  type RunSettings,
  type TaskOutcome,
} from './runs/run-task.js';
import type { ExplorerState } from './explorer-state.js';

/**
 * Where the tasks of an explore step come from; one state from which the rest of the order follows.
 */
export interface TaskFeed {
  /** The tasks of explore step `step`, none at the end. */
  next(step: number): Promise<readonly Task[]>;
  state(): JsonState;
  restore(state: JsonState): void;
}

export interface EvalSet {
  readonly name: string;
  /** All tasks of the set, marked as evaluation, with batch id `<step>/<name>`. */
  tasks(step: number): Promise<readonly Task[]>;
}

/** What the explorer needs of the synchronizer. */
export interface ExploreSync {
  isBoundary(step: number): boolean;
  exploreBoundary(
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: string; readonly version: number }>;
}

/** How an explorer works, by the names of a configuration's section `explorer`. */
export interface ExplorerSettings extends RunSettings {
  /** Attempts in flight. */
  readonly concurrency: number;
  /** What is stored; advantages are computed per model call either way. @default "step" */
  readonly experienceShape?: ExperienceShape;
  /** Explore steps between evaluations. @default never */
  readonly evalInterval?: number;
  /** Evaluate before the first explore step. */
  readonly evalOnStartup: boolean;
}

export interface ExplorerOptions {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  readonly store: ExperienceStore;
  readonly sync: ExploreSync;
  readonly workflow: (name: string) => WorkflowDefinition;
  readonly rewardFn: (task: Task) => RewardFn | undefined;
  readonly createModel: (key: AttemptKey) => AttemptModel;
  readonly policyVersion: () => number;
  /** Of the experience pipeline, before the advantages. @default none */
  readonly operators?: readonly ExperienceOperator[];
  readonly advantage?: AdvantageFn;
  readonly settings: ExplorerSettings;
  /** Evaluations also report max, min and std over tasks. @default false */
  readonly detailedStats?: boolean;
  /** Sees the experiences of each step once they are stored. */
  readonly onStored?: (step: number, experiences: readonly Experience[]) => void;
  /** No more explore steps than this. */
  readonly maxSteps?: number;
  readonly sink: MetricSink;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

export interface Explorer {
  /**
   * Explores until the tasks end. Resolves with the number of explore steps made.
   * @throws CancelledError when stopped
   */
  run(state?: ExplorerState): Promise<number>;
  /** Evaluates all sets with the weights in use; metrics under `<prefix>/<set>/`. */
  evaluate(step: number, prefix?: string): Promise<Metrics>;
}

export function createExplorer(options: ExplorerOptions): Explorer {
  const { feed, sync, store, settings, sink, runtime, signal } = options;
  const limit = pLimit(settings.concurrency);
  const pool = createInstancePool();
  const despair = createDespair(store);
  const watchGroups = createGroupWatch(runtime.logger);
  const watchDrops = createDropWatch(runtime.logger);
  /** About the last boundary; goes out with the next explore step. */
  let syncMetrics: Metrics = {};

  const runAll = (tasks: readonly Task[]): Promise<readonly TaskOutcome[]> =>
    Promise.all(
      tasks.map((task) => {
        const rewardFn = options.rewardFn(task);
        return runTask(task, {
          definition: options.workflow(task.workflow),
          rewardFn,
          createModel: options.createModel,
          settings,
          limit,
          pool,
          runtime,
          signal,
        });
      }),
    );

  /** Tasks are read in step order before anything waits, so several steps may be in flight. */
  const beginStep = async (step: number): Promise<StepInFlight | undefined> => {
    const tasks = await feed.next(step);
    if (tasks.length === 0) return undefined;
    const begun = runtime.clock.now();
    const outcomes = runAll(tasks);
    // Reported when the step is finished; until then a failure of a later step must not count as
    // unhandled.
    outcomes.catch(() => undefined);
    return {
      step,
      begun,
      outcomes,
      state: { step, policyVersion: options.policyVersion(), feed: feed.state() },
    };
  };

  /**
   * Writes what is to say about the step, then stores it: one that was not stored is made again,
   * with its records.
   */
  const finishStep = async ({ step, begun, outcomes, state }: StepInFlight): Promise<void> => {
    const done = await outcomes;
    const waited = runtime.clock.now() - begun;
    const experiences = done.flatMap((outcome) =>
      outcome.runs.filter(isOk).flatMap((run) => run.experiences),
    );
    const pipeline = runPipeline(experiences, {
      ...options,
      experienceShape: settings.experienceShape,
    });
    watchDrops(experiences.length, pipeline.experiences.length);
    const rollout = rolloutMetrics(done, state.policyVersion);
    watchGroups(rollout['rollout/identical_group_share']);
    sink.write({
      role: 'explorer',
      step,
      metrics: {
        ...rollout,
        ...pipeline.metrics,
        ...syncMetrics,
        'time/wait_explore_step': waited / 1000,
      },
    });
    syncMetrics = {};
    if (isEvalStep(step)) await evaluateAt(step);
    await store.put(pipeline.experiences, { ...state });
    options.onStored?.(step, pipeline.experiences);
    await despair.watch(done, state);
  };

  const evaluate = async (step: number, prefix = 'eval'): Promise<Metrics> => {
    const begun = runtime.clock.now();
    let metrics: Metrics = {};
    for (const set of options.evalSets) {
      metrics = {
        ...metrics,
        ...prefixMetrics(
          `${prefix}/${set.name}`,
          evalMetrics(await runAll(await set.tasks(step)), {
            detailed: options.detailedStats ?? false,
          }),
        ),
      };
    }
    return { ...metrics, 'time/eval': (runtime.clock.now() - begun) / 1000 };
  };

  const evaluateAt = async (step: number): Promise<void> => {
    if (options.evalSets.length > 0)
      sink.write({ role: 'explorer', step, metrics: await evaluate(step) });
  };

  /**
   * Explores up to the next boundary and finishes everything begun. Returns the last step, or
   * undefined when the tasks have ended.
   */
  const exploreToBoundary = async (
    from: number,
  ): Promise<{ readonly step: number; readonly ended: boolean }> => {
    const inFlight: StepInFlight[] = [];
    let step = from;
    let ended = false;
    while (!ended) {
      const begun = step < (options.maxSteps ?? Infinity) ? await beginStep(step + 1) : undefined;
      if (!begun) {
        ended = true;
        break;
      }
      inFlight.push(begun);
      step = begun.step;
      if (sync.isBoundary(step) || isEvalStep(step)) break;
    }
    for (const begun of inFlight) await finishStep(begun);
    return { step, ended };
  };

  const meetTrainer = async (): Promise<void> => {
    const begun = runtime.clock.now();
    const { outcome } = await sync.exploreBoundary(signal);
    syncMetrics = {
      'rollout/sync/updated': outcome === 'updated' ? 1 : 0,
      'rollout/sync/starved': outcome === 'starved' ? 1 : 0,
      'time/sync_weight': (runtime.clock.now() - begun) / 1000,
    };
  };

  const isEvalStep = (step: number): boolean =>
    options.evalSets.length > 0 &&
    settings.evalInterval !== undefined &&
    step % settings.evalInterval === 0;

  return {
    evaluate,
    run: async (state) => {
      let step = state?.step ?? 0;
      despair.startFrom(
        state ?? { step, policyVersion: options.policyVersion(), feed: feed.state() },
      );
      if (state) feed.restore(state.feed);
      else if (settings.evalOnStartup) await evaluateAt(0);
      // A resumed explorer that stood at a boundary has not fetched the weights of that boundary
      // yet.
      if (state && sync.isBoundary(step)) await meetTrainer();
      for (;;) {
        if (signal.aborted)
          throw new CancelledError('The explorer was stopped.', {
            reason: 'shutdown',
            cause: signal.reason,
          });
        const explored = await exploreToBoundary(step);
        const moved = explored.step > step;
        step = explored.step;
        if (moved && sync.isBoundary(step)) await meetTrainer();
        if (!explored.ended) continue;
        await despair.atEnd();
        return step;
      }
    },
  };
}

interface StepInFlight {
  readonly step: number;
  readonly begun: number;
  readonly outcomes: Promise<readonly TaskOutcome[]>;
  readonly state: ExplorerState;
}
