/** Renders evaluations for continuous integration: JUnit XML, and Markdown for a summary. */
import { escaped } from '../debug/visible.js';
import type { Comparison } from './compare-evaluations.js';
import type { Evaluation } from './evaluate-run.js';

/** Value below which a task is considered failed. */
const passes = 0.5;
const [mostFlips, mostText] = [10, 200];

/**
 * Renders the last checkpoint as JUnit XML: one test suite per set, one test case per task. A task
 * whose rollouts all failed is an error.
 */
export function renderJUnit({ sets }: Evaluation): string {
  const suites = sets.map(({ set, key, checkpoints, tasks }) => {
    const last = checkpoints.length - 1;
    const cases = tasks.map(({ row, prompt, values, answers, reasons, seconds }) => {
      const value = values[last] ?? 0;
      const answer = answers[last];
      const reason = reasons[last];
      const why = reason ? `\n\nReason:\n${reason}` : '';
      const said = `Prompt:\n${prompt ?? ''}\n\nAnswer:\n${answer ?? ''}${why}`;
      const kind = answer === null ? 'error' : value < passes ? 'failure' : undefined;
      const message = answer === null ? 'Every run failed.' : `${key} ${shown(value)}`;
      const body =
        kind === undefined ? '' : `<${kind} message="${xml(message)}">${xml(said)}</${kind}>`;
      return {
        kind,
        text: `    <testcase classname="${xml(set)}" name="row ${row}" time="${(seconds[last] ?? 0).toFixed(3)}">${body}</testcase>`,
      };
    });
    const count = (kind: string): number => cases.filter((one) => one.kind === kind).length;
    const time = tasks.reduce((sum, { seconds }) => sum + (seconds[last] ?? 0), 0).toFixed(3);
    return `  <testsuite name="${xml(set)}" tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}" skipped="0" time="${time}">\n${cases.map(({ text }) => text).join('\n')}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>\n`;
}

/**
 * Escapes a string for XML 1.0. Replaces most control characters and lone surrogates, which XML 1.0
 * cannot represent.
 */
const xml = (text: string): string =>
  escaped(
    text.replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}'),
  );

/** Renders comparisons for a terminal, one line per set. */
export function renderComparisons(baseline: string, comparisons: readonly Comparison[]): string {
  const lines = comparisons.map(
    ({ set, key, before, after, difference: { mean, interval, better, worse, same } }) =>
      `  ${set}: ${key} ${shown(before)} → ${shown(after)}, ${shown(mean)} (${rangeOf(interval)}), ${better} better / ${worse} worse / ${same} same`,
  );
  return `\nAgainst ${baseline}\n\n${lines.join('\n')}\n`;
}

/** Renders Markdown with a table of the sets, and the tasks that changed most. */
export function renderMarkdown(
  { jobDirectory }: Pick<Evaluation, 'jobDirectory'>,
  comparisons: readonly Comparison[],
): string {
  const rows = comparisons.map(({ set, key, before, after, difference, mcnemar }) => {
    const { interval, better, worse, same } = difference;
    return `| ${[cell(set), cell(key), shown(before), shown(after), `${shown(difference.mean)} (${rangeOf(interval)})`, mcnemar === undefined ? '' : mcnemar.toPrecision(2), `${better} / ${worse} / ${same}`].join(' | ')} |`;
  });
  const head = [
    '| set | metric | baseline | now | difference (95 % interval) | McNemar p | better / worse / same |',
    '| --- | --- | --- | --- | --- | --- | --- |',
  ];
  const flips = comparisons.flatMap(({ set, flips: changed }) =>
    changed
      .toSorted((a, b) => a.after - a.before - (b.after - b.before))
      .slice(0, mostFlips)
      .map(
        ({ row, prompt = '', before, after, answers: [was = 'failed', is = 'failed'] }) =>
          `- **${cell(set)} row ${row}**, ${shown(before)} → ${shown(after)}: ${cell(prompt)}\n  - before: ${cell(was)}\n  - now: ${cell(is)}`,
      ),
  );
  const changes =
    flips.length === 0 ? [] : ['', 'Tasks that changed, the worst first:', '', ...flips];
  return `${[`### Evaluation of ${cell(jobDirectory)}`, '', ...head, ...rows, ...changes].join('\n')}\n`;
}

/** Table cell on one line, without Markdown or HTML syntax. */
const cell = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .slice(0, mostText)
    .replaceAll(/[\\|`*_<>[\]&]/g, (sign) => `\\${sign}`);

const rangeOf = (interval: Comparison['difference']['interval']): string =>
  interval ? `${shown(interval.low)} to ${shown(interval.high)}` : 'unknown';

const shown = (value: number): string => String(Number(value.toFixed(3)));
