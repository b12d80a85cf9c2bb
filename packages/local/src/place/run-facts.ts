/** Facts that a run recorded about a checkpoint: settings, base model, evaluations. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { isCheckpointName, readManifest } from '@trinity-rft/core/engine';
import { parseModelId } from '@trinity-rft/core/support';

/** Mean score over the tasks of an evaluation set. */
export interface EvaluationScore {
  readonly set: string;
  /** Name of the metric: `reward` or, if the run recorded none, `accuracy`. */
  readonly metric: string;
  readonly value: number;
  /** 95 % confidence interval of `value`; undefined if it is not known. */
  readonly interval?: { readonly low: number; readonly high: number };
}

export interface RunFacts {
  /** Folder of the whole run. */
  readonly jobDirectory: string;
  /** Folder of the stage that wrote the checkpoint. */
  readonly stageDirectory: string;
  /**
   * Settings of the stage, keyed by their paths in the YAML, such as `algorithm.algorithm_type`.
   */
  readonly settings: Readonly<Record<string, unknown>>;
  /** `model.model_path` of the first stage. */
  readonly base: string | undefined;
  /**
   * Hub repository of `base`, `OWNER/NAME`; undefined if the configuration names a local model. For
   * a model of the hub, `base` is a folder or file in the cache.
   */
  readonly baseRepository: string | undefined;
  readonly step: number;
  /** Evaluation scores of this checkpoint's weights. */
  readonly evaluations: readonly EvaluationScore[];
}

const settingsFile = 'settings.json';

export const isRun = (folder: string): boolean => existsSync(path.join(folder, settingsFile));

/**
 * Reads the recorded facts about a checkpoint. Returns undefined if the folder is not a checkpoint
 * inside a run.
 */
export async function runFactsOf(checkpoint: string): Promise<RunFacts | undefined> {
  const manifest = await readManifest(checkpoint);
  const stageDirectory = path.dirname(path.resolve(checkpoint));
  const jobDirectory = [stageDirectory, path.dirname(stageDirectory)].find(isRun);
  if (jobDirectory === undefined || manifest === undefined) return undefined;
  const stages = await readStages(jobDirectory);
  const name = path.basename(stageDirectory);
  const settings = stages.find((stage) => stage['stage_name'] === name) ?? stages.at(-1) ?? {};
  const { 'model.model_path': base, 'model.hub_id': id } = stages[0] ?? {};
  const { step } = manifest;
  return {
    jobDirectory,
    stageDirectory,
    settings,
    base: typeof base === 'string' ? base : undefined,
    baseRepository: typeof id === 'string' ? parseModelId(id)?.repository : undefined,
    step,
    evaluations: (await evaluationsIn(stageDirectory)).get(step) ?? [],
  };
}

/**
 * Returns the settings of each stage that has started. @throws CheckpointError if the file is
 * damaged
 */
export async function readStages(
  jobDirectory: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const file = path.join(jobDirectory, settingsFile);
  try {
    const record = JSON.parse(await readFile(file, 'utf8')) as { readonly stages?: unknown } | null;
    if (Array.isArray(record?.stages))
      return record.stages as readonly Readonly<Record<string, unknown>>[];
  } catch (cause) {
    throw new CheckpointError(`${file} cannot be read. Name a checkpoint of the run instead.`, {
      code: 'SETTINGS_DAMAGED',
      cause,
    });
  }
  throw new CheckpointError(
    `${file} is not a record of settings. Name a checkpoint of the run instead.`,
    {
      code: 'SETTINGS_DAMAGED',
    },
  );
}

/** Returns the complete checkpoints of a stage in ascending order of steps. */
export async function checkpointsIn(
  stageDirectory: string,
): Promise<readonly { readonly directory: string; readonly step: number }[]> {
  const names = (await readdir(stageDirectory).catch(() => [])).filter(isCheckpointName);
  const found = await Promise.all(
    names.map(async (name) => {
      const directory = path.join(stageDirectory, name);
      const manifest = await readManifest(directory);
      return manifest ? [{ directory, step: manifest.step }] : [];
    }),
  );
  return found.flat().toSorted((a, b) => a.step - b.step);
}

/** Matches metric names of evaluation scores: `eval/SET/METRIC/mean@N`, and `bench/...`. */
const scorePattern = /^(?:eval|bench)\/(.+)\/(reward|accuracy)\/mean@\d+$/;

/**
 * Returns the evaluation scores of a stage's weights, keyed by train step: of evaluations during
 * training and of `trinity eval`. Of several scores on one set, the last recorded one counts.
 */
export async function evaluationsIn(
  stageDirectory: string,
): Promise<ReadonlyMap<number, readonly EvaluationScore[]>> {
  const { readMetrics } = await import('@trinity-rft/monitor');
  const lines = await readMetrics(path.join(stageDirectory, 'monitor', 'metrics.jsonl'), []);
  const trainedAt = new Map(
    lines.flatMap(({ role, step }, i) => (role === 'trainer' ? [[step, i] as const] : [])),
  );
  const scores = lines.flatMap(({ role, step, metrics }, i) => {
    // A step that was trained again after `trinity eval` has other weights.
    const isStale = role === 'bench' && i < (trainedAt.get(step) ?? 0);
    const of = role === 'bench' ? step : metrics['eval/model_version'];
    return typeof of !== 'number' || isStale
      ? []
      : scoresIn(metrics).map((score) => ({ of, score }));
  });
  return new Map(
    [...Map.groupBy(scores, ({ of }) => of)].map(([step, each]) => [
      step,
      [...new Map(each.map(({ score }) => [score.set, score])).values()],
    ]),
  );
}

function scoresIn(metrics: Readonly<Record<string, number | null>>): readonly EvaluationScore[] {
  const scores = Object.entries(metrics).flatMap(([key, value]): readonly EvaluationScore[] => {
    const [, set, metric] = scorePattern.exec(key) ?? [];
    if (set === undefined || metric === undefined || value === null) return [];
    const [low, high] = [metrics[`${key}/ci95_low`], metrics[`${key}/ci95_high`]];
    const isKnown = typeof low === 'number' && typeof high === 'number';
    return [{ set, metric, value, ...(isKnown && { interval: { low, high } }) }];
  });
  return [...Map.groupBy(scores, ({ set }) => set).values()].flatMap(
    (each) => each.find(({ metric }) => metric === 'reward') ?? each.slice(0, 1),
  );
}
