import { short } from './evidence/format.js';
import type { Finding } from './evidence/rule.js';

/** Renders findings for a terminal, one block each. */
export function renderFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return '  Nothing found.\n';
  return findings.map(renderFinding).join('\n');
}

function renderFinding({ name, title, when, text, numbers, advice, rollouts }: Finding): string {
  const facts = [
    ['', text],
    ['Rule', `${name}: ${when}.`],
    ...numbers.map(({ metric, value, from, to, outOf }) => [
      'Number',
      `${[metric, ...(outOf ?? [])].join(' / ')} = ${short(value)}, steps ${from} to ${to}`,
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
