/** How far a run is, from its metrics and its settings. */
import type { RunSettings, RunSummary } from '../interface/types.js';
import type { Column } from '../metrics/columns.js';
import { finite, sparklineOf } from '../metrics/curve.js';
import type { MetricFile } from '../metrics/metric-file.js';

const sparklineLength = 60;
/** Steps over which the time of the next ones is guessed. */
const recentSteps = 20;

export type Progress = Pick<
  RunSummary,
  'exploreStep' | 'trainStep' | 'version' | 'reward' | 'sparkline' | 'secondsPerStep' | 'steps'
>;

export const noProgress: Progress = { sparkline: [] };

export async function progressOf(metrics: MetricFile, settings: RunSettings): Promise<Progress> {
  const explored = await metrics.columns('explorer', [
    'rollout/reward/mean',
    'rollout/model_version',
    'time/wait_explore_step',
    'time/sync_weight',
  ]);
  const [reward, version, waited, synced] = explored;
  const [score, step] = await metrics.columns('trainer', ['critic/score/mean', 'time/step']);
  const rewards = reward !== undefined && lastOf(reward) !== undefined ? reward : score;
  const exploreStep = lastStep(metrics, 'explorer');
  const trainStep = lastStep(metrics, 'trainer');
  const total = totalSteps(settings);
  const isTraining = total?.of === 'trainer';
  return {
    exploreStep,
    trainStep,
    version: version && lastOf(version),
    reward: rewards && lastOf(rewards),
    sparkline: rewards ? [...sparklineOf(rewards, sparklineLength)] : [],
    secondsPerStep: isTraining ? recentMean([step]) : recentMean([waited, synced]),
    steps: total && { done: (isTraining ? trainStep : exploreStep) ?? 0, total: total.steps },
  };
}

/** With `total_epochs`, it follows from the number of tasks, which the run does not write. */
function totalSteps(
  settings: RunSettings,
): { readonly steps: number; readonly of: 'trainer' | 'explorer' } | undefined {
  const given = settings['trainer.total_steps'];
  if (typeof given === 'number') return { steps: given, of: 'trainer' };
  const steps = settings['buffer.total_steps'];
  if (typeof steps !== 'number') return undefined;
  return { steps, of: settings['mode'] === 'train' ? 'trainer' : 'explorer' };
}

function lastStep({ roles }: MetricFile, role: string): number | undefined {
  const steps = roles.get(role)?.steps;
  return steps === undefined || steps.length() === 0 ? undefined : steps.at(steps.length() - 1);
}

function lastOf(values: Column): number | undefined {
  for (let line = values.length() - 1; line >= 0; line--) {
    const value = finite(values.at(line));
    if (value !== null) return value;
  }
  return undefined;
}

/** Of the sum of these columns. */
function recentMean(columns: readonly (Column | undefined)[]): number | undefined {
  const length = Math.max(0, ...columns.map((column) => column?.length() ?? 0));
  const sums: number[] = [];
  for (let line = length - 1; line >= 0 && sums.length < recentSteps; line--) {
    const known = columns.flatMap((column) => finite(column?.at(line) ?? Number.NaN) ?? []);
    if (known.length > 0) sums.push(known.reduce((sum, value) => sum + value, 0));
  }
  return sums.length === 0 ? undefined : sums.reduce((sum, value) => sum + value, 0) / sums.length;
}
