/**
 * Collects the events of a run, such as checkpoints and restarts, with their positions on the x
 * axis of a curve.
 */
import { checkpointSteps } from '@trinity-rft/core/engine';
import type { Mark, Marks } from '../interface/types.js';
import {
  firstFrom,
  positionsOf,
  trainStepsOf,
  versionsOf,
  type Axis,
  type Position,
} from '../metrics/axis.js';
import type { RoleLines } from '../metrics/line-index.js';
import type { MetricFile } from '../metrics/metric-file.js';
import { endOfFile } from '../shared/end-of-file.js';
import { failureOf, logFiles } from '../../verify/folder.js';
import type { RunPlace } from './place.js';

interface Event {
  readonly kind: Mark['kind'];
  /** Line number among the lines of the curve's role. */
  readonly line: number;
  readonly text: string;
}

interface Looked {
  readonly lines: RoleLines;
  readonly metrics: MetricFile;
  /**
   * Returns the first line that was computed with the weights of a train step, or with later
   * weights.
   */
  readonly lineOfTrainStep: (step: number) => number;
}

/** Maximum number of shown events of each kind. */
const mostOfKind = 200;

export async function marksOf(
  { folder }: RunPlace,
  metrics: MetricFile,
  lines: RoleLines,
  axis: Axis,
): Promise<Marks> {
  const count = lines.steps.length();
  const lineOfTrainStep = firstLines(count, lines, await trainStepsOf(metrics, lines));
  const looked: Looked = { lines, metrics, lineOfTrainStep };
  const events = await Promise.all([
    checkpoints(folder, looked),
    weightUpdates(looked),
    evaluations(looked),
    restarts(folder, looked),
    failure(folder, count),
  ]);
  const position = await positionsOf(metrics, lines, axis);
  return {
    marks: events.flatMap((ofKind) =>
      thinned(ofKind).flatMap(({ kind, line, text }) => {
        const x = position(Math.min(line, count - 1));
        return Number.isFinite(x) ? [{ kind, x, text }] : [];
      }),
    ),
    counts: Object.fromEntries(
      events.flatMap((ofKind) => ofKind.slice(0, 1).map(({ kind }) => [kind, ofKind.length])),
    ),
  };
}

/**
 * Returns a function that finds the first line with at least the given train step. If there is no
 * such line, the function returns `count`, or for `bench` the line with the highest step. Lines of
 * `bench` are sorted first, because checkpoints may be evaluated in any order.
 */
function firstLines(
  count: number,
  { role, steps }: RoleLines,
  reached: Position,
): (step: number) => number {
  if (role !== 'bench') return (step) => firstFrom(count, (line) => reached(line) >= step);
  const order = Array.from({ length: count }, (_, line) => line).toSorted(
    (a, b) => steps.at(a) - steps.at(b),
  );
  return (step) =>
    order[firstFrom(count, (i) => reached(order[i] ?? 0) >= step)] ?? order.at(-1) ?? 0;
}

const thinned = (events: readonly Event[]): readonly Event[] => {
  const every = Math.ceil(events.length / mostOfKind);
  return every <= 1 ? events : events.filter((_, i) => i % every === 0);
};

/**
 * Returns the checkpoints on disk, and deleted ones. Deleted checkpoints are known from the metric
 * that records how long saving took.
 */
async function checkpoints(
  folder: string,
  { metrics, lineOfTrainStep }: Looked,
): Promise<readonly Event[]> {
  const trainer = metrics.roles.get('trainer');
  const [saving] = await metrics.columns('trainer', ['time/save_checkpoint']);
  const steps = new Set(await checkpointSteps(folder));
  for (let line = 1; trainer && saving && line < saving.length(); line++)
    if (!Number.isNaN(saving.at(line))) steps.add(trainer.steps.at(line - 1));
  return [...steps]
    .toSorted((a, b) => a - b)
    .map((step) => ({ kind: 'checkpoint', line: lineOfTrainStep(step), text: `${step}` }));
}

async function weightUpdates({
  lines,
  metrics,
  lineOfTrainStep,
}: Looked): Promise<readonly Event[]> {
  const explorer = metrics.roles.get('explorer');
  if (!explorer) return [];
  const versions = await versionsOf(metrics, explorer);
  const events: Event[] = [];
  let before = Number.NaN;
  for (let line = 0; line < explorer.steps.length(); line++) {
    const now = versions(line);
    if (Number.isNaN(now)) continue;
    if (now > before)
      events.push({
        kind: 'weights',
        line: lines.role === 'explorer' ? line : lineOfTrainStep(now),
        text: `${now}`,
      });
    before = now;
  }
  return events;
}

async function evaluations({ lines, metrics, lineOfTrainStep }: Looked): Promise<readonly Event[]> {
  const explorer = metrics.roles.get('explorer');
  const [took, versions] = await metrics.columns('explorer', ['time/eval', 'eval/model_version']);
  const events: Event[] = [];
  for (let line = 0; explorer && line < explorer.steps.length(); line++) {
    if (Number.isNaN(took?.at(line) ?? Number.NaN)) continue;
    const version = versions?.at(line) ?? 0;
    const at = lines.role === 'explorer' ? line : lineOfTrainStep(version);
    events.push({ kind: 'evaluation', line: at, text: `${version}` });
  }
  return events;
}

/** Number of bytes that are read from the end of a log file. */
const logShare = 1 << 20;

/**
 * Returns the restarts of a run. They are known from the message that a resumed run writes to its
 * log.
 */
async function restarts(
  folder: string,
  { lines, lineOfTrainStep }: Looked,
): Promise<readonly Event[]> {
  const log = await Promise.all(logFiles(folder).map((file) => endOfFile(file, logShare)));
  const said = log
    .join('')
    .matchAll(/^\w+ +(\S+) Resumes at (?:explore step (\d+) and )?train step (\d+)\./gm);
  return [...said].map(([, at = '', explore, train]) => ({
    kind: 'restart',
    line:
      lines.role === 'explorer' && explore !== undefined
        ? firstFrom(lines.steps.length(), (line) => lines.steps.at(line) >= Number(explore))
        : lineOfTrainStep(Number(train)),
    text: at,
  }));
}

async function failure(folder: string, count: number): Promise<readonly Event[]> {
  const text = await failureOf(folder);
  return text === undefined ? [] : [{ kind: 'failure', line: count - 1, text }];
}
