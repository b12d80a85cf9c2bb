/** Results of a run that are equal for two runs with the same seed. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export type Metrics = Readonly<Record<string, number>>;

export interface MetricLine {
  readonly role: string;
  readonly step: number;
  readonly metrics: Metrics;
}

/** The lines of a stage's `metrics.jsonl`, without the times. */
export function metricLines(jobDirectory: string): readonly MetricLine[] {
  const file = path.join(jobDirectory, 'monitor', 'metrics.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { timing: _timing, ...rest } = JSON.parse(line) as MetricLine & {
        readonly timing: unknown;
      };
      return rest;
    });
}

/** Steps of the checkpoints in a stage's folder, oldest first. */
export function checkpointSteps(jobDirectory: string): readonly number[] {
  const names = existsSync(jobDirectory) ? readdirSync(jobDirectory) : [];
  return names
    .flatMap((name) => /^global_step_(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** sha256 of the weights of the newest checkpoint. */
export function weightsDigest(jobDirectory: string): string {
  return digestOf(newestFile(jobDirectory, 'model.safetensors'));
}

/** SHA-256 of the critic's weights; undefined if no critic was trained. */
export function criticDigest(jobDirectory: string): string | undefined {
  const file = newestFile(jobDirectory, path.join('critic', 'model.safetensors'));
  return existsSync(file) ? digestOf(file) : undefined;
}

const newestFile = (jobDirectory: string, name: string): string =>
  path.join(jobDirectory, `global_step_${checkpointSteps(jobDirectory).at(-1)}`, name);

const digestOf = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

export interface UsedRow {
  readonly uid: string;
  /** Undefined if no train step used the experience. */
  readonly trainStep: number | undefined;
}

/** Every experience of a stage in stored order, with the train step that used it. */
export function usedRows(database: string): readonly UsedRow[] {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const file = new DatabaseSync(database, { readOnly: true });
  try {
    const rows = file
      .prepare(
        'SELECT e.uid AS uid, u.train_step AS step FROM experience e LEFT JOIN used u ON u.id = e.id ORDER BY e.id',
      )
      .all();
    return rows.map(({ uid, step }) => ({
      uid: String(uid),
      trainStep: step === null ? undefined : Number(step),
    }));
  } finally {
    file.close();
  }
}
