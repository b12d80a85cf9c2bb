/**
 * Mode `explore`: makes the rollouts of tasks that a trainer, or an explorer without a trainer, has
 * planned.
 */
import path from 'node:path';
import { ConfigError, type Task } from '@trinity-rft/core';
import { openTogether, type Closable } from '@trinity-rft/core/support';
import type { Agreement, RunStore } from '@trinity-rft/core/store';
import type { TaskOutcome } from '@trinity-rft/explorer';
import {
  createEnvironmentCircuits,
  createTimeLimits,
  rewardDeadline,
  taskStarter,
  type TaskRunnerOptions,
  type TimeLimit,
  type TimeLimits,
} from '@trinity-rft/explorer/internal';
import type { ScoreRun } from '@trinity-rft/model';
import { openTasks, type StageTasks } from '../assembly/data/tasks.js';
import { runsHere, taskRunnerOptions } from '../assembly/explorer-options.js';
import { openAuxiliaryModels } from '../assembly/models/auxiliary-models.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openEndpoint } from '../assembly/models/endpoint.js';
import { openEngine, sampleFromStart } from '../assembly/models/engine.js';
import { withFetchedTasks } from '../assembly/task-pipeline/share-tasks.js';
import { disposable } from '../context/disposable.js';
import { stageResult, type StageContext, type StageResult } from '../context/stage-context.js';
import { agreementOf } from './distributed/agreement.js';
import { exploreAlone, exploredAlone, needsTrainer } from './distributed/explore-alone.js';
import { exploreLeased } from './distributed/explore-leased.js';
import { lookEveryMs, openStageStore } from './distributed/open-store.js';
import { explorerFolder } from './distributed/explorer-folder.js';
import { joinRun, type JoinedRun } from './distributed/join-run.js';

export async function runExplorer(context: StageContext): Promise<StageResult> {
  const { stage, extensions, runtime, signal } = context;
  const problem = context.aloneAfterMs === 0 ? needsTrainer(stage) : undefined;
  if (problem !== undefined)
    throw new ConfigError(`--alone: ${problem} Start it without, beside a trainer.`, {
      code: 'EXPLORE_ALONE',
    });
  const agreement = await agreementOf(stage);
  const own = { role: 'explorer', name: stage.explorer.name, agreement } as const;
  await using store = disposable(await openStageStore(stage, own, context));
  await exploredAlone(store, own);
  const counts = { version: -1, done: 0, late: 0 };
  const { clock, logger } = runtime;
  const state = () => ({
    version: counts.version,
    facts: { tasksDone: counts.done, resultsLate: counts.late },
  });
  const joined = await joinRun({ ...own, store, clock, logger, state, signal });
  try {
    const made = await withFetchedTasks(stage, {
      store,
      folder: path.join(explorerFolder(stage), 'task_pipeline'),
      lookEveryMs,
      wait: (work) =>
        joined.waitFor({ what: 'the tasks of the task pipeline', on: 'trainer' }, work),
      signal: AbortSignal.any([signal, joined.lost]),
    });
    await using tasks = await openTasks(made, extensions, context);
    const now = { ...context, stage: made };
    await using side = disposable(await openSide(now, store));
    const trainStep = await explore(now, { store, joined, tasks, side, counts, agreement });
    return stageResult(trainStep);
  } finally {
    await joined.leave();
  }
}

interface Side extends Closable {
  readonly engine: Awaited<ReturnType<typeof openEngine>>;
  readonly options: Omit<TaskRunnerOptions, 'signal'>;
  readonly failed: AbortSignal;
}

/** Opens the engine that samples, and the endpoint and models that agents call. */
function openSide(context: StageContext, store: RunStore): Promise<Side> {
  const { stage, startModel, extensions, runtime, rewardKey, signal, env } = context;
  const { engines } = extensions;
  return openTogether(async (stack) => {
    const format = await openChatFormat(stage, startModel);
    const model = { startModel, format, runtime, signal, env };
    const engine = stack.use(await openEngine(stage, model, engines, false));
    const score: ScoreRun = (run, reward) => store.reward(run, reward);
    const endpoint = stack.use(await openEndpoint(runtime, score, rewardKey));
    const auxiliary = stack.use(await openAuxiliaryModels(stage, runtime, engines, endpoint));
    const { sampler } = engine;
    const runs = runsHere(stage, runtime, { sampler, format, auxiliary, endpoint, env });
    return {
      engine,
      options: taskRunnerOptions(stage, runtime, extensions, runs.createModel),
      failed: AbortSignal.any([engine.failed, auxiliary.failed]),
      close: () => stack.close(),
    };
  });
}

/**
 * Returns a function that collects outcomes, and passes them to the time limits in groups of the
 * size of an explore step.
 */
function inBatches(limits: TimeLimits, batchSize: number): (outcome: TaskOutcome) => TaskOutcome {
  let batch: TaskOutcome[] = [];
  return (outcome) => {
    if (!outcome.task.isEval) batch.push(outcome);
    if (batch.length >= batchSize) {
      limits.record(batch);
      batch = [];
    }
    return outcome;
  };
}

interface ExploreParts {
  readonly store: RunStore;
  readonly joined: JoinedRun;
  readonly tasks: StageTasks;
  readonly side: Side;
  readonly counts: { version: number; done: number; late: number };
  readonly agreement: Agreement;
}

/**
 * Explores until nothing is left to explore. Resolves with the last train step of the training run.
 */
async function explore(
  context: StageContext,
  { store, joined, tasks, side, counts, agreement }: ExploreParts,
): Promise<number> {
  const { stage, runtime } = context;
  const { sampler } = side.engine;
  if (!sampler.score)
    throw new ConfigError(
      `The engine "${stage.engine}" cannot score text, so it cannot prove that it samples with the trainer's weights. Use mode: both.`,
      { code: 'ENGINE_CANNOT_PROVE' },
    );
  await using alone = disposable(exploreAlone({ ...context, store, joined, tasks, agreement }));
  const lost = AbortSignal.any([side.failed, joined.lost, alone.failed]);
  const signal = AbortSignal.any([context.signal, lost]);
  const limits = createTimeLimits(stage.explorer);
  const learnTimes = inBatches(limits, stage.buffer.batchSize);
  const timeLimit = (task: Task): TimeLimit => limits.limit(task);
  const startTask = taskStarter({
    ...side.options,
    circuits: createEnvironmentCircuits({
      settings: stage.explorer,
      onPause: (what) => joined.beginWait({ what, on: undefined }),
      ...runtime,
    }),
    timeLimit,
    rewardDeadline: rewardDeadline(stage.explorer, runtime.clock),
    signal,
  });
  return await exploreLeased(stage, runtime, {
    store,
    joined,
    sampler,
    lost,
    signal,
    scratch: path.join(explorerFolder(stage), 'weights'),
    onTaken: (version) => {
      counts.version = version;
      context.onProgress({ what: 'exploring', total: stage.buffer.batchSize });
    },
    withoutTrainer: async () => {
      if (alone.isAlone() && sampler.policyVersion !== 0) await sampleFromStart(side.engine);
      return alone.isAlone();
    },
    isDone: alone.isDone,
    taskOf: (leased) => tasks.taskAt(leased),
    startTask: (task) => {
      const running = startTask(task);
      return { outcome: running.outcome.then(learnTimes), cutOff: () => running.cutOff() };
    },
    onResult: (leased, result) => {
      if (result === 'stored') counts.done++;
      else {
        counts.late++;
        runtime.logger.warn(
          `Task ${leased.batch}/${leased.task} came too late: another explorer has it. The result is counted, not used.`,
        );
      }
    },
  });
}
