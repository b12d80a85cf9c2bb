/** X axes of curves. An axis assigns a position to each line of a role in `metrics.jsonl`. */
import type { axes } from '../interface/metrics.js';
import type { RoleLines } from './line-index.js';
import type { MetricFile } from './metric-file.js';

export type Axis = (typeof axes)[number];

/** Maps a line number to its position on the axis; NaN if unknown. */
export type Position = (line: number) => number;

export async function positionsOf(
  metrics: MetricFile,
  lines: RoleLines,
  axis: Axis,
): Promise<Position> {
  if (axis === 'step') return lines.steps.at;
  return axis === 'time' ? timeOf(metrics, lines) : tokensOf(metrics, lines);
}

/**
 * Metric of the total time of a train step. Explore steps have no such metric, so the durations of
 * their parts are added.
 */
const whole = 'time/step';
const parts = ['time/wait_explore_step', 'time/sync_weight', 'time/eval'] as const;

/**
 * Maps a line to the total duration of all steps up to that line, in seconds. Excludes the time
 * between a stop of the run and its restart.
 */
async function timeOf(metrics: MetricFile, { role, steps }: RoleLines): Promise<Position> {
  const [step, ...others] = await metrics.columns(role, [whole, ...parts]);
  const seconds = (line: number): number => {
    const known = step?.at(line) ?? Number.NaN;
    if (!Number.isNaN(known)) return known;
    return others.reduce((sum, { at }) => sum + (Number.isNaN(at(line)) ? 0 : at(line)), 0);
  };
  const sums = sumsOf(steps.length(), seconds);
  return (sums.at(-1) ?? 0) === 0 ? () => Number.NaN : (line) => sums[line] ?? Number.NaN;
}

/**
 * Returns a function that maps a line to the number of tokens that its weights had been trained on.
 */
async function tokensOf(metrics: MetricFile, lines: RoleLines): Promise<Position> {
  const trainer = metrics.roles.get('trainer');
  if (!trainer) return () => Number.NaN;
  const [tokens] = await metrics.columns('trainer', ['perf/total_num_tokens']);
  const sums = sumsOf(trainer.steps.length(), (line) => tokens?.at(line) || 0);
  if ((sums.at(-1) ?? 0) === 0) return () => Number.NaN;
  if (lines.role === 'trainer') return (line) => sums[line] ?? Number.NaN;
  const versions = await trainStepsOf(metrics, lines);
  const trained = (version: number): number => {
    const after = firstFrom(trainer.steps.length(), (line) => trainer.steps.at(line) > version);
    return after === 0 ? 0 : (sums[after - 1] ?? 0);
  };
  return (line) => (Number.isNaN(versions(line)) ? Number.NaN : trained(versions(line)));
}

/**
 * Returns a function that maps a line to a train step, namely the one whose weights the line
 * describes. For the trainer and `bench` this is the step of the line; for the explorer it is the
 * policy version.
 */
export const trainStepsOf = async (metrics: MetricFile, lines: RoleLines): Promise<Position> =>
  lines.role === 'explorer' ? versionsOf(metrics, lines) : lines.steps.at;

/** Returns a function that maps a line to the policy version of its explore step or evaluation. */
export async function versionsOf(metrics: MetricFile, { role }: RoleLines): Promise<Position> {
  const [rollout, evaluated] = await metrics.columns(role, [
    'rollout/model_version',
    'eval/model_version',
  ]);
  return (line) => {
    const version = rollout?.at(line) ?? Number.NaN;
    return Number.isNaN(version) ? (evaluated?.at(line) ?? Number.NaN) : version;
  };
}

function sumsOf(length: number, value: (line: number) => number): Float64Array {
  const sums = new Float64Array(length);
  let sum = 0;
  for (let line = 0; line < length; line++) sums[line] = sum += value(line);
  return sums;
}

/** The first index in `[0, length)` from which on a condition holds; `length` if there is none. */
export function firstFrom(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
