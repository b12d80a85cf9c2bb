/** Renders the report of a run as text. */
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import { evaluatedAfter, figureMetrics, isExploreStep, plotCurve } from '@trinity-rft/monitor';
import { curveOf, metricNames, type MetricLine } from '@trinity-rft/monitor';
import { newestOfSteps } from '../diagnosis/index.js';
import { verdictOfRun } from './diagnose-run.js';
import { lastTrained, type RunReport, type StageReport } from './run-report.js';

interface RenderReportOptions {
  /** Number of log lines to show, counted from the end. @default 10 */
  readonly lines?: number;
  /** True to show only warnings and errors of the log. @default false */
  readonly warnings?: boolean;
}

const rewardMetric = figureMetrics.reward;
/** Maximum number of names that are suggested for an unknown name. */
const mostSuggestions = 8;

/**
 * Renders the reward curve, the evaluations and the last lines of the log, as `trinity log` prints
 * them.
 */
export function renderReport(
  { jobDirectory, pid, stages }: RunReport,
  options: RenderReportOptions = {},
): string {
  const running = pid === undefined ? '' : `, process ${pid} is at work`;
  const parts = stages.map((stage) => renderStage(jobDirectory, stage, options));
  return `${jobDirectory}${running}\n\n${parts.join('\n')}`;
}

function renderStage(
  jobDirectory: string,
  { directory, metrics, log, failure, checkpoint }: StageReport,
  { lines = 10, warnings = false }: RenderReportOptions,
): string {
  const kept = warnings ? log.filter((line) => /^(?:WARN|ERROR) /.test(line)) : log;
  const shown = lines === 0 ? [] : kept.slice(-lines);
  const trainStep = metrics.findLast(({ role }) => role === 'trainer')?.step;
  const facts: Readonly<Record<string, string | undefined>> = {
    'train step': trainStep === undefined ? undefined : String(trainStep),
    checkpoint: checkpoint && `${checkpoint.directory} (after step ${checkpoint.step})`,
    reward: rewardText(metrics),
    ...evaluations(metrics),
    warnings: countText(log),
    failed: failure,
  };
  return [
    ...(directory === jobDirectory ? [] : [`stage ${path.basename(directory)}`]),
    ...Object.entries(facts)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `  ${name.padEnd(12)} ${value}`),
    ...(shown.length === 0 ? [] : ['', `  ${path.join(directory, 'log', 'trinity.log')}`]),
    ...shown.map((line) => `    ${line}`),
    '',
  ].join('\n');
}

function rewardText(metrics: readonly MetricLine[]): string | undefined {
  const values = curveOf(metrics, rewardMetric).map(([, value]) => value);
  const [first, last] = [values.at(0), values.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const best = Math.max(...values.filter(Number.isFinite));
  const bestText = best === -Infinity ? '' : `, best ${best.toFixed(3)}`;
  return `${first.toFixed(3)} -> ${last.toFixed(3)} in ${values.length} explore steps${bestText}`;
}

/** Mean reward of each evaluation at its first and its last step. */
function evaluations(metrics: readonly MetricLine[]): Readonly<Record<string, string>> {
  const names = metricNames(metrics).filter((name) =>
    /^(?:eval|bench)\/.+\/reward\/mean(?:@\d+)?$/.test(name),
  );
  const explored = new Set<number>();
  const evaluated = metrics.map((line) => {
    if (isExploreStep(line)) explored.add(line.step);
    return { ...line, step: evaluatedAfter(line, (step) => explored.has(step)) };
  });
  return Object.fromEntries(
    names.map((name) => {
      const points = curveOf(evaluated, name).map(([step, value]) => ({ step, value }));
      const curve = newestOfSteps(points).map(
        ({ step, value }) => `${value.toFixed(3)} (after step ${step})`,
      );
      const [first, last] = [curve.at(0), curve.at(-1)];
      return [name.split('/').slice(0, -2).join('/'), [...new Set([first, last])].join(' -> ')];
    }),
  );
}

function countText(log: readonly string[]): string | undefined {
  const count = (level: string): number =>
    log.filter((line) => line.startsWith(`${level} `)).length;
  const [warned, failed] = [count('WARN'), count('ERROR')];
  return warned + failed === 0 ? undefined : `${warned}, and ${failed} errors`;
}

const endPlot = { width: 60, height: 6 };
/** Verdicts that are shown without a cause. */
const good: ReadonlySet<unknown> = new Set(['learned', 'notEvaluated']);

/**
 * Renders the end of a run: the reward curve, the first and the last evaluation, and the verdict.
 * Returns an empty string if the run has no metrics.
 */
export async function renderEnd(report: RunReport): Promise<string> {
  const last = lastTrained(report);
  if (!last) return '';
  const values = curveOf(last.metrics, rewardMetric).map(([, value]) => value);
  const curve =
    new Set(values).size < 2 ? [] : [plotCurve(values, { ...endPlot, title: 'mean reward' }), ''];
  const scores = Object.entries(evaluations(last.metrics))
    .filter(([name]) => name.startsWith('eval/'))
    .map(([name, text]) => `${name}  ${text}`);
  const verdict = await verdictOfRun(report);
  const { kind, cause } = verdict ?? {};
  const why =
    cause === undefined || good.has(kind) ? [] : [`${cause.title}: ${cause.text}`, cause.advice];
  const said = verdict === undefined ? [] : [`${verdict.headline} ${verdict.text}`, ...why];
  return [...curve, ...scores, ...said].map((line) => `${line}\n`).join('');
}

/**
 * Renders one metric of all stages as a plot and a line per step.
 * @param given name of the metric, or `reward`, `loss` or `tokens/s` as shown on the console
 * @throws ConfigError for unknown names
 */
export function renderMetric({ stages }: RunReport, given: string): string {
  const metric = Object.hasOwn(figureMetrics, given)
    ? figureMetrics[given as keyof typeof figureMetrics]
    : given;
  const parts = stages.flatMap(({ directory, metrics }) => {
    const curve = curveOf(metrics, metric);
    if (curve.length === 0) return [];
    const title = `${metric}, ${directory}`;
    const plot = plotCurve(
      curve.map(([, value]) => value),
      { title },
    );
    return [`${plot}\n\n${curve.map(([step, value]) => `${step}\t${value}`).join('\n')}\n`];
  });
  if (parts.length > 0) return parts.join('\n');
  const known = metricNames(stages.flatMap(({ metrics }) => metrics));
  throw new ConfigError(
    `No metric is named "${metric}".${suggestions(metric, known)} The run has ${known.length} metrics; log --json has all of them.`,
    { code: 'METRIC_UNKNOWN' },
  );
}

/**
 * Suggests names that contain the given word, rollouts and evaluations first. If no name contains
 * the word, suggests the most similar name.
 */
function suggestions(metric: string, known: readonly string[]): string {
  const rank = (name: string): number => {
    const place = ['rollout/', 'eval/', 'actor/'].findIndex((start) => name.startsWith(start));
    return (place === -1 ? 9 : place) * 100 + name.length;
  };
  const near = known
    .filter((name) => name.includes(metric) && !/\/(?:ci95_\w+|std(?:@\d+)?|min|max)$/.test(name))
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, mostSuggestions);
  return near.length === 0 ? didYouMean(metric, known) : ` Near it: ${near.join(', ')}.`;
}
