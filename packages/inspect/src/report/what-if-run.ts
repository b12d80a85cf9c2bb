/**
 * Applies a different reward, advantage or loss to the recorded rollouts of a run, and compares the
 * results.
 */
import { withReader } from '@trinity-rft/buffer';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import {
  ConfigError,
  taskTruth,
  type Experience,
  type RewardFn,
  type Task,
} from '@trinity-rft/core';
import { copyOf } from '@trinity-rft/core/support';
import { toTask } from '@trinity-rft/explorer';
import {
  changed,
  newestSteps,
  variantOf,
  whatIf,
  type Change,
  type RecordedReward,
  type TaskOf,
  type WhatIf,
} from '../what-if/index.js';
import { loadExtensions, readTaskset } from '@trinity-rft/launcher/parts';
import {
  readConfiguration,
  type Configuration,
  type ConfigurationOptions,
} from '@trinity-rft/launcher';
import { findRecords } from '../debug/find-records.js';
import { stageOrLatest } from '../verify/stages.js';

/** Parts of the algorithm to replace, by their names in YAML. Absent parts stay as recorded. */
interface RunChange extends Change {
  readonly rewardFn?: string | undefined;
}

interface WhatIfRunOptions extends Omit<ConfigurationOptions, 'configPath'> {
  readonly change: RunChange;
  /** Number of the newest explore steps to use. @default 5 */
  readonly steps?: number | undefined;
  /** Assumed policy drift in nats, as in `WhatIfOptions`. @default 0 */
  readonly drift?: number | undefined;
}

export interface StoreWhatIf extends WhatIf {
  readonly database: string;
  readonly exploreSteps: number;
}

/**
 * Compares the recorded settings with the changed settings, for each experience store of a run.
 * Writes nothing.
 * @param run path of a configuration, or of the folder of a run; if `change` has a reward function,
 * a configuration is needed, because only it names the task sets
 * @throws ConfigError for unknown names, for parts that need a model, and if no experiences are
 * recorded
 */
export async function whatIfRun(
  run: string,
  { change, steps = 5, drift, ...options }: WhatIfRunOptions,
): Promise<readonly StoreWhatIf[]> {
  const place = path.resolve(options.cwd ?? '.', run);
  const isFolder = (await stat(place).catch(() => undefined))?.isDirectory() === true;
  const configuration = isFolder
    ? undefined
    : await readConfiguration({ ...options, configPath: place });
  const { algorithms } = configuration ?? (await loadExtensions(options));
  const scoring = await scoringOf(change.rewardFn, configuration);
  const found: StoreWhatIf[] = [];
  for (const { database } of await findRecords(place, options)) {
    const experiences = withReader(database, (reader) => newestSteps(reader, steps));
    if (experiences.length === 0) continue;
    const before = variantOf(await stageOrLatest(path.dirname(path.dirname(database))));
    const after = { ...changed(before, change), reward: scoring?.reward };
    const taskOf = scoring?.taskOf;
    const report = await whatIf(experiences, { before, after, taskOf, drift, tables: algorithms });
    const exploreSteps = new Set(experiences.map(({ eid }) => eid.batch)).size;
    found.push({ database, exploreSteps, ...report });
  }
  if (found.length > 0) return found;
  throw new ConfigError(`Nothing is recorded in ${place} yet. Let the run make a step first.`, {
    code: 'NOTHING_RECORDED',
  });
}

interface Scoring {
  readonly reward: RecordedReward;
  readonly taskOf: TaskOf;
}

async function scoringOf(
  name: string | undefined,
  configuration: Configuration | undefined,
): Promise<Scoring | undefined> {
  if (name === undefined) return undefined;
  if (!configuration)
    throw new ConfigError(
      `The reward function "${name}" compares answers with tasks, and a folder does not say where they are. Name the configuration instead.`,
      { code: 'TASKS_UNKNOWN' },
    );
  const tasks = await tasksOf(configuration);
  const named = (experience: Experience): Task | undefined => {
    const { taskset, row } = experience.info;
    return tasks.get(`${String(taskset)}/${String(row)}`);
  };
  return {
    reward: rewardNamed(name, { rewardFns: configuration.rewardFns, tasks, taskOf: named }),
    taskOf: (experience) => {
      const task = named(experience);
      return task && { truth: taskTruth(task), rawTask: task.rawTask };
    },
  };
}

interface RewardPlaces extends Pick<Configuration, 'rewardFns'> {
  readonly tasks: ReadonlyMap<string, Task>;
  readonly taskOf: (experience: Experience) => Task | undefined;
}

/**
 * Creates a reward function that uses the configured arguments. If the rollout's own task uses this
 * reward function, its arguments apply; otherwise those of the first task that uses it; otherwise
 * none.
 */
function rewardNamed(name: string, { rewardFns, tasks, taskOf }: RewardPlaces): RecordedReward {
  const first = [...tasks.values()].find(({ rewardFn }) => rewardFn === name);
  const noArgs: Task['rewardFnArgs'] = {};
  const created = new Map<Task['rewardFnArgs'], RewardFn>();
  const rewardWith = (args: Task['rewardFnArgs']): RewardFn => {
    const rewardFn = created.get(args) ?? rewardFns.get(name).create(copyOf(args));
    created.set(args, rewardFn);
    return rewardFn;
  };
  // Creates one before any answer is read, so that an unknown name is always an error.
  rewardWith(first?.rewardFnArgs ?? noArgs);
  return (answer) => {
    const own = taskOf(answer.experience);
    return rewardWith((own?.rewardFn === name ? own : first)?.rewardFnArgs ?? noArgs)(answer);
  };
}

/** Tasks, keyed by `NAME/ROW`: the name of the task set, and the row. */
async function tasksOf(configuration: Configuration): Promise<ReadonlyMap<string, Task>> {
  const { signal } = new AbortController();
  const { env } = process;
  const tasksets = configuration.loaded.config.stages.flatMap(
    ({ buffer }) => buffer.explorerInput.tasksets,
  );
  const tasks = new Map<string, Task>();
  for (const taskset of tasksets) {
    const { rows } = await readTaskset(taskset, configuration, { signal, env });
    for (const [row, rawTask] of rows.entries())
      tasks.set(
        `${taskset.name}/${row}`,
        toTask({ row, rawTask }, taskset, { batchId: 0, taskId: row, isEval: false }),
      );
  }
  return tasks;
}
