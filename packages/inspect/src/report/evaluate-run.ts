/**
 * Evaluates checkpoints of a run on its evaluation sets: scores with intervals, compared task by
 * task.
 */
import { hash } from 'node:crypto';
import { ConfigError, mean, type Experience, type Metrics } from '@trinity-rft/core';
import {
  countedValue,
  meanInterval,
  pairedDifference,
  reportedKeys,
  type Interval,
  type PairedDifference,
  type TaskOutcome,
} from '@trinity-rft/explorer';
import { type EvaluatedCheckpoint, run, type RunOptions } from '@trinity-rft/launcher';
import type { Sampler } from '@trinity-rft/core/engine';
import { alignColumns } from '@trinity-rft/core/support';
import { signed } from '../diagnosis/evidence/format.js';
import { reasonsOf } from './answers.js';
import { createEvaluationFolder } from './evaluation-folder.js';
import { samplingEngine, samplingEngineName } from './sampling-engine.js';

interface EvaluateRunOptions extends Omit<RunOptions, 'evaluation' | 'overrides'> {
  /**
   * Checkpoints to evaluate: `base`, `last`, `best`, or numbers of train steps. @default base and
   * last
   */
  readonly checkpoints?: readonly string[];
  /**
   * Model to evaluate instead of checkpoints, such as an export. Files are written into
   * `other.directory`, and none into the run's folder.
   * @default no other model
   */
  readonly other?: OtherModel;
  /**
   * Folder or GGUF file of a model with which the result is compared. If it cannot be evaluated with
   * the configuration, nothing is evaluated.
   * @default no baseline
   */
  readonly baseline?: string | undefined;
}

interface OtherModel {
  /**
   * Sampler to evaluate; it must use the tokenizer of the run. Either `sampler` or `model` is
   * given.
   */
  readonly sampler?: Sampler;
  /** Folder or GGUF file of a model. */
  readonly model?: string;
  /** Name of the model on the console. */
  readonly label: string;
  readonly directory: string;
}

/** Result of an evaluation, as plain data. */
export interface Evaluation {
  readonly jobDirectory: string;
  readonly interrupted: boolean;
  readonly sets: readonly SetEvaluation[];
  /** Train step of the best checkpoint; undefined unless it was requested. */
  readonly best?: number;
}

interface SetEvaluation {
  readonly set: string;
  /** Compared metric: `reward`, or `accuracy` if no rollout reports a reward. */
  readonly key: string;
  /** Checkpoints in ascending order of steps. */
  readonly checkpoints: readonly CheckpointScore[];
  readonly tasks: readonly EvaluatedTask[];
}

/** Results of one row of a set. Each list has one entry per checkpoint. */
export interface EvaluatedTask {
  readonly row: number;
  /** Hash of the whole row, which identifies the same task in another evaluation. */
  readonly digest: string;
  /** Prompt of the first call, shortened to its end. */
  readonly prompt?: string;
  /** Mean of the compared metric over the task's rollouts. Failed rollouts count as 0. */
  readonly values: readonly number[];
  /** The last answer of the first rollout that did not fail; null if all rollouts failed. */
  readonly answers: readonly (string | null)[];
  /** Reason that the reward function gave for the answer; null if there is none. */
  readonly reasons: readonly (string | null)[];
  readonly seconds: readonly number[];
}

interface CheckpointScore {
  /** Train step; 0 for the weights before training. */
  readonly step: number;
  /** Names such as `base` and `last`. */
  readonly names: readonly string[];
  readonly directory: string | undefined;
  readonly mean: number;
  /**
   * Mean of each metric that any checkpoint of the set reports. Failed rollouts count as 0, as in
   * `mean`. Empty if every rollout of the set failed.
   */
  readonly metrics: Metrics;
  /** 95 % confidence interval of the mean. */
  readonly interval: Interval | undefined;
  readonly failedRuns: number;
  /**
   * Difference from the first checkpoint of the list, task by task; undefined for the first
   * checkpoint.
   */
  readonly difference: PairedDifference | undefined;
}

/**
 * Evaluates checkpoints as mode `bench` does: each with the same tasks and seeds. Records answers
 * in `evaluations/` in the folder of the run, or in the folder of `other`.
 * @throws ConfigError for a checkpoint that does not exist
 */
export async function evaluateRun({
  checkpoints = ['base', 'last'],
  other,
  baseline,
  ...given
}: EvaluateRunOptions): Promise<Evaluation> {
  const { sampler, model, label } = other ?? {};
  const options = sampler
    ? { ...given, engines: [...(given.engines ?? []), samplingEngine(sampler)] }
    : given;
  const place = other && {
    checkpoint_root_dir: other.directory,
    ...(sampler && { trainer: { trainer_type: samplingEngineName } }),
  };
  if (place && typeof options.configPath === 'string') {
    const { configPath } = options;
    await createEvaluationFolder({ ...options, configPath }, { mode: 'bench', ...place });
  }
  const evaluated: EvaluatedCheckpoint[] = [];
  const { jobDirectory, interrupted } = await run({
    ...options,
    overrides: { mode: 'bench', ...place },
    evaluation: {
      checkpoints,
      model,
      baseline,
      label,
      onCheckpoint: (checkpoint) => evaluated.push(checkpoint),
    },
  });
  const sets = (evaluated[0]?.sets ?? []).map(({ set }) => setEvaluation(set, evaluated));
  const best = checkpoints.includes('best') ? bestOf(sets) : undefined;
  return { jobDirectory, interrupted, sets, ...(best !== undefined && { best }) };
}

/** Evaluation of one set, from the outcomes of its tasks with each checkpoint. */
export function setEvaluation(
  set: string,
  evaluated: readonly EvaluatedCheckpoint[],
): SetEvaluation {
  const seen = evaluated.map((checkpoint) => ({
    ...checkpoint,
    outcomes: checkpoint.sets.find((each) => each.set === set)?.outcomes ?? [],
  }));
  const keys = reportedKeys(seen.flatMap(({ outcomes }) => outcomes));
  const key = ['reward', 'accuracy'].find((each) => keys.has(each)) ?? 'reward';
  const [first, ...later] = seen.map((checkpoint) => scoreOf(checkpoint, key, keys));
  if (!first) throw noCheckpoint();
  return {
    set,
    key,
    checkpoints: [first, ...later].map(({ values, ...score }) => ({
      ...score,
      difference: values === first.values ? undefined : pairedDifference(first.values, values),
    })),
    tasks: (seen[0]?.outcomes ?? []).map(({ task }, i) => ({
      row: task.index.row,
      digest: hash('sha256', JSON.stringify(task.rawTask), 'hex').slice(0, 16),
      values: [first, ...later].map(({ values }) => values[i] ?? 0),
      ...playedTask(seen.map(({ outcomes }) => outcomes[i])),
    })),
  };
}

/** Returns the prompt, answers, reasons and times of one task, with one entry per checkpoint. */
function playedTask(
  outcomes: readonly (TaskOutcome | undefined)[],
): Pick<EvaluatedTask, 'prompt' | 'answers' | 'reasons' | 'seconds'> {
  const calls = outcomes.map(callsOf);
  const prompt = calls.map(([first]) => first?.promptText).find((text) => text !== undefined);
  const last = calls.map((each) => each.at(-1));
  return {
    ...(prompt !== undefined && { prompt: prompt.slice(-mostText) }),
    answers: last.map((call) => (call ? (call.responseText ?? '').slice(0, mostText) : null)),
    reasons: last.map((call) => reasonsOf(call).join('\n').slice(0, mostText) || null),
    seconds: outcomes.map((outcome) => outcome?.seconds ?? 0),
  };
}

const noCheckpoint = (): ConfigError =>
  new ConfigError('No checkpoint was evaluated. Name at least one.', {
    code: 'CHECKPOINT_MISSING',
  });

/** Maximum length of a prompt and an answer in an evaluation, in characters. */
const mostText = 2000;

/** Returns the calls of the first rollout that did not fail. */
const callsOf = (outcome: TaskOutcome | undefined): readonly Experience[] =>
  (outcome && okRuns(outcome)[0]?.answers) ?? [];

const okRuns = ({ runs }: TaskOutcome) => runs.flatMap((one) => (one.status === 'ok' ? [one] : []));

function scoreOf(
  {
    step,
    directory,
    isLast,
    outcomes,
  }: EvaluatedCheckpoint & { readonly outcomes: readonly TaskOutcome[] },
  key: string,
  keys: ReadonlySet<string>,
): Omit<CheckpointScore, 'difference'> & { readonly values: readonly number[] } {
  const valuesOf = (name: string): readonly number[] =>
    outcomes.map(({ runs }) => mean(runs.map((each) => countedValue(each, name))));
  const values = valuesOf(key);
  return {
    step,
    names: [...(directory === undefined ? ['base'] : []), ...(isLast ? ['last'] : [])],
    directory,
    mean: mean(values),
    metrics: Object.fromEntries([...keys].map((name) => [name, mean(valuesOf(name))])),
    interval: meanInterval(values),
    failedRuns: outcomes.flatMap(({ runs }) => runs).filter(({ status }) => status === 'failed')
      .length,
    values,
  };
}

/**
 * Returns the train step of the checkpoint with the highest mean over the sets. If several
 * checkpoints are equally good, returns the earliest of them. Ignores the weights before training.
 */
function bestOf(sets: readonly SetEvaluation[]): number | undefined {
  const scores = (sets[0]?.checkpoints ?? []).flatMap(({ step, directory }, i) =>
    directory === undefined
      ? []
      : [{ step, score: mean(sets.map(({ checkpoints }) => checkpoints[i]?.mean ?? 0)) }],
  );
  return scores.reduce<(typeof scores)[number] | undefined>(
    (best, next) => (best === undefined || next.score > best.score ? next : best),
    undefined,
  )?.step;
}

/** Renders an evaluation for a terminal, one table per set. */
export function renderEvaluation({ sets, best }: Evaluation): string {
  return sets.map((set) => renderSet(set, best)).join('\n');
}

function renderSet({ set, key, checkpoints, tasks }: SetEvaluation, best?: number): string {
  const rows = checkpoints.map(({ step, names, mean: score, interval, failedRuns, difference }) => [
    [...names, ...(step === best ? ['best'] : []), ...(step === 0 ? [] : [`step ${step}`])].join(
      ' ',
    ),
    score.toFixed(3),
    rangeOf(interval),
    difference === undefined ? '' : `${signed(difference.mean)} (${rangeOf(difference.interval)})`,
    difference === undefined
      ? ''
      : `${difference.better} / ${difference.worse} / ${difference.same}`,
    failedRuns === 0 ? '' : String(failedRuns),
  ]);
  const first = rows[0]?.[0] ?? '';
  const head = [
    'checkpoint',
    key,
    '95 % interval',
    ...(checkpoints.length === 1 ? ['', ''] : [`against ${first}`, 'better / worse / same']),
    rows.some((row) => row[5] !== '') ? 'failed runs' : '',
  ];
  const lines = alignColumns([head, ...rows], '  ');
  return `\n${set}, ${tasks.length} tasks\n\n${lines.join('\n')}\n`;
}

const rangeOf = (interval: Interval | undefined): string =>
  interval === undefined ? 'unknown' : `${interval.low.toFixed(3)} to ${interval.high.toFixed(3)}`;
