import { short } from './evidence/format.js';
import type { Finding } from './evidence/rule.js';
import type { Measured } from './evidence/series.js';

/** Renders findings for a terminal, one block each. */
export function renderFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return '  Nothing found.\n';
  return findings.map(renderFinding).join('\n');
}

function formulaOf({ metric, counted = [metric], outOf, statistic }: Measured): string {
  if (outOf) return `${sumOf(counted)} / ${sumOf(outOf)}`;
  return statistic === undefined ? metric : `${metric} (${statistic})`;
}

const sumOf = (metrics: readonly string[]): string =>
  metrics.length > 1 ? `(${metrics.join(' + ')})` : metrics.join('');

function renderFinding({ name, title, when, text, numbers, advice, rollouts }: Finding): string {
  const facts = [
    ['', text],
    ['Rule', `${name}: ${when}.`],
    ...numbers.map((number) => [
      'Number',
      `${formulaOf(number)} = ${short(number.value)}, steps ${number.from} to ${number.to}`,
    ]),
    ['Change', advice],
    ...(rollouts?.ids && rollouts.ids.length > 0
      ? [['Rollouts', `${rollouts.ids.join(', ')} ("trinity view RUN")`]]
      : []),
  ];
  const lines = facts.map(([label = '', words = '']) =>
    `    ${label.padEnd(9)} ${words}`.trimEnd(),
  );
  return `  ${title}\n${lines.join('\n')}\n`;
}
