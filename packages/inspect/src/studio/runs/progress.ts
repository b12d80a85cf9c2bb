/** Progress of a run, from its metrics and its settings. */
import type { RunSettings, RunSummary } from '../interface/types.js';
import type { Column } from '../metrics/columns.js';
import { finite, sparklineOf } from '../metrics/curve.js';
import type { MetricFile } from '../metrics/metric-file.js';
import type { Passes, TotalReader } from './total-steps.js';

const sparklineLength = 60;
/** Number of recent steps from which the time of the next steps is estimated. */
const recentSteps = 20;
/** Maximum time in ms for reading metrics. The list of runs does not wait for the metrics. */
const seenMs = 60_000;

export type Progress = Pick<
  RunSummary,
  | 'exploreStep'
  | 'trainStep'
  | 'version'
  | 'reward'
  | 'evaluation'
  | 'sparkline'
  | 'secondsPerStep'
  | 'steps'
  | 'noTotal'
>;

export const noProgress: Progress = { sparkline: [] };

export async function progressOf(
  metrics: MetricFile,
  settings: RunSettings,
  totalOf: TotalReader,
): Promise<Progress> {
  const explored = await metrics.columns('explorer', [
    'rollout/reward/mean',
    'rollout/model_version',
    'time/wait_explore_step',
    'time/sync_weight',
  ]);
  const [reward, version, waited, synced] = explored;
  const [score, step, epochs] = await metrics.columns('trainer', [
    'critic/score/mean',
    'time/step',
    'sample/epoch',
  ]);
  const evaluated = await benchmarkOf(metrics);
  const rewards = [reward, score, evaluated].find((each) => each?.isSet() === true);
  // An evaluation after the last step is recorded under the next step, which never runs.
  const exploreStep = lastStep(metrics, 'explorer', waited);
  const trainStep = lastStep(metrics, 'trainer', step);
  const total = await totalOf(settings, passesOf(metrics, epochs));
  const isTraining = total.of === 'trainer';
  const done = isTraining ? trainStep : exploreStep;
  return {
    exploreStep,
    trainStep,
    version: version && lastOf(version),
    reward: rewards && lastOf(rewards),
    evaluation: await evaluationOf(metrics, settings),
    sparkline: rewards ? [...sparklineOf(rewards, sparklineLength)] : [],
    secondsPerStep: isTraining ? recentMean([step]) : recentMean([waited, synced]),
    steps: total.steps === undefined ? undefined : { done: done ?? 0, total: total.steps },
    noTotal: total.unknown,
  };
}

/**
 * Returns the reward on the first evaluated set, for a run of mode `bench`; undefined for other
 * runs.
 */
async function benchmarkOf(metrics: MetricFile): Promise<Column | undefined> {
  if (!metrics.roles.has('bench')) return undefined;
  const { metrics: all } = await metrics.seen(seenMs);
  const found = [...all.values()].find(
    ({ role, name }) => role === 'bench' && /^bench\/.+\/reward\/mean@\d+$/.test(name),
  );
  return found && (await metrics.columns('bench', [found.name]))[0];
}

/**
 * Returns the latest mean reward on the first evaluation set. The name of the set comes from the
 * settings, because finding it in the metrics would require parsing every line.
 */
async function evaluationOf(
  metrics: MetricFile,
  settings: RunSettings,
): Promise<Progress['evaluation']> {
  const set = 'buffer.explorer_input.eval_tasksets[0]';
  const [name, count] = [`${set}.name`, `${set}.repeat_times`].map((key) => String(settings[key]));
  const [role, prefix] = settings['mode'] === 'bench' ? ['bench', 'bench'] : ['explorer', 'eval'];
  const metric = `${prefix}/${name}/reward/mean@${count}`;
  const names = [metric, `${metric}/ci95_low`, `${metric}/ci95_high`];
  const [mean, low, high] = (await metrics.columns(role, names)).map(lastOf);
  return mean === undefined ? undefined : { metric, mean, low, high };
}

/**
 * Returns how many times the trainer has passed over its data file; undefined for a trainer that
 * does not read a file.
 */
function passesOf(metrics: MetricFile, epochs: Column | undefined): Passes | undefined {
  const passed = epochs && lastOf(epochs);
  const steps = lastStep(metrics, 'trainer', epochs);
  return passed === undefined || steps === undefined ? undefined : { epochs: passed, steps };
}

/** Last step with a value; the last step if no line has a value. */
function lastStep({ roles }: MetricFile, role: string, values?: Column): number | undefined {
  const steps = roles.get(role)?.steps;
  if (steps === undefined || steps.length() === 0) return undefined;
  const last = values === undefined ? -1 : lastLine(values);
  return steps.at(last === -1 ? steps.length() - 1 : last);
}

function lastLine(values: Column): number {
  let line = values.length() - 1;
  while (line >= 0 && !Number.isFinite(values.at(line))) line--;
  return line;
}

const lastOf = (values: Column): number | undefined =>
  finite(values.at(lastLine(values))) ?? undefined;

/** Mean over recent lines of the sum of these columns. */
function recentMean(columns: readonly (Column | undefined)[]): number | undefined {
  const length = Math.max(0, ...columns.map((column) => column?.length() ?? 0));
  const sums: number[] = [];
  for (let line = length - 1; line >= 0 && sums.length < recentSteps; line--) {
    const known = columns.flatMap((column) => finite(column?.at(line) ?? Number.NaN) ?? []);
    if (known.length > 0) sums.push(known.reduce((sum, value) => sum + value, 0));
  }
  return sums.length === 0 ? undefined : sums.reduce((sum, value) => sum + value, 0) / sums.length;
}
