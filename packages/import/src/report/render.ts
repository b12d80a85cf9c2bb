import { alignColumns, boundedText } from '@trinity-rft/core/support';
import type { ImportReport, ScoreRange, Skipped } from './report.js';

/** Renders the report as the lines that `trinity import` prints. */
export function renderImport(report: ImportReport): string {
  const { written, validation, read, files, duplicates, tokens, redacted } = report;
  const share = (count: number): string =>
    `${count} (${written === 0 ? 0 : Math.round((count / written) * 100)} %)`;
  const rows: readonly (readonly [string, string] | undefined)[] = [
    ['read', `${plural(read, 'record')} of ${plural(files, 'file')}`],
    ['written', `${plural(written, 'row')} for ${report.as}`],
    validation > 0 ? ['for validation', share(validation)] : undefined,
    ['duplicates dropped', String(duplicates)],
    ['with tools', share(report.withTools)],
    ['with a score', share(report.withScore)],
    report.scores && ['scores of answers', Object.entries(report.scores).map(ranged).join(', ')],
    report.assertions && ['assertions', listed(report.assertions)],
    ['messages', listed(report.roles)],
    tokens && [
      'tokens per row',
      `${tokens.least} to ${tokens.most}, median ${tokens.median}, 95 % at most ${tokens.percentile95}, ${tokens.total} in all`,
    ],
    redacted && ['redacted', listed(redacted)],
  ];
  const shown = rows.filter((row) => row !== undefined);
  return [
    `Source: ${report.sources.join(', ')}`,
    ...alignColumns(shown, '  '),
    ...skippedLines(report.skipped),
    ...skippedLines(report.unchecked ?? [], 'Not checked by the reward taskAssertions:'),
    ...(report.unlikePairs > 0
      ? [
          `Compared by scores of different names: ${plural(report.unlikePairs, 'pair')}. ${oneScore}`,
        ]
      : []),
    ...(report.assertions ? rewardOfAssertions : []),
    '',
  ].join('\n');
}

const oneScore = 'Choose one score with --score NAME.';

const ranged = ([name, { count, least, most }]: readonly [string, ScoreRange]): string =>
  `${plain(name)} ${count} (${least === most ? short(least) : `${short(least)} to ${short(most)}`})`;

const short = (value: number): number => Number(value.toPrecision(3));

/** Quotes a name with other than plain characters, because it comes from the file. */
const plain = (name: string): string => {
  const text = boundedText(name, 80);
  return /^[\w./: -]+$/.test(text) ? text : JSON.stringify(text);
};

const rewardOfAssertions = [
  'The assertions are the reward with a file asserts.ts beside the YAML,',
  "  export { taskAssertions } from '@trinity-rft/workflow/reward';",
  'and in the YAML, at the task set or in explorer_input,',
  '  default_reward_fn_type: ./asserts.ts#taskAssertions',
];

/** Returns one line per reason, with the first places at which it occurred. */
export function skippedLines(skipped: readonly Skipped[], title = 'Skipped:'): readonly string[] {
  if (skipped.length === 0) return [];
  return [
    title,
    ...skipped.map(({ reason, count, first }) => {
      const places = first.map(
        ({ file, line, detail }) =>
          `${file}${line === undefined ? '' : `:${line}`}${detail === undefined ? '' : ` ${detail}`}`,
      );
      const more = count > first.length ? ', ...' : '';
      return `  ${count} x ${reason}: ${places.join(', ')}${more}`;
    }),
  ];
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'none';
