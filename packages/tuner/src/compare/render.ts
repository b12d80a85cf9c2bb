import type { Interval, PairedDifference } from '@trinity-rft/explorer';
import type {
  Cost,
  PromptAndWeightsReport,
  VariantDifference,
  VariantName,
} from './prompt-and-weights.js';

/** Renders a comparison of prompt and weights as Markdown, with a table and conclusions. */
export function renderPromptAndWeights({
  rows,
  variants,
  differences,
}: PromptAndWeightsReport): string {
  const between = (from: VariantName, to: VariantName): PairedDifference | undefined =>
    differences.find((one) => one.from === from && one.to === to)?.difference;
  const table = [
    ['', 'reward', '95 % interval', 'against base', 'better / worse / same', 'failed', ...costs],
    ...variants.map(({ name, reward, interval, failedRows, cost }) => {
      const difference = between('base', name);
      return [
        name,
        fixed(reward),
        rangeOf(interval),
        difference ? changeOf(difference) : '',
        difference ? `${difference.better} / ${difference.worse} / ${difference.same}` : '',
        String(failedRows),
        ...cellsOf(cost),
      ];
    }),
  ];
  const tuning = variants.flatMap(({ name, tuning: spent }) =>
    spent ? [`- ${name}: ${spentOn(spent)}`] : [],
  );
  return `${[
    `### Prompt and weights, ${rows} held-out tasks`,
    '',
    ...markdownTable(table),
    '',
    ...differences.map(sentenceOf),
    ...(tuning.length > 0 ? ['', 'The tuning itself took', '', ...tuning] : []),
  ].join('\n')}\n`;
}

const costs = ['calls', 'tokens in', 'tokens out', 'seconds', 'US$'];

const cellsOf = ({ calls, inputTokens, outputTokens, seconds, dollars }: Cost): string[] => [
  ...[calls, inputTokens, outputTokens].map((count) => String(count ?? '')),
  seconds.toFixed(1),
  dollars === undefined ? '' : money(dollars),
];

const spentOn = ({ calls, inputTokens, outputTokens, seconds, dollars }: Partial<Cost>): string =>
  [
    calls === undefined ? undefined : `${calls} calls`,
    inputTokens === undefined ? undefined : `${inputTokens} tokens in`,
    outputTokens === undefined ? undefined : `${outputTokens} tokens out`,
    seconds === undefined ? undefined : `${seconds.toFixed(1)} seconds`,
    dollars === undefined ? undefined : `US$ ${money(dollars)}`,
  ]
    .filter((part) => part !== undefined)
    .join(', ');

/**
 * Returns a sentence with the conclusion about two variants. If the interval contains 0, the
 * sentence only says that no difference is shown, because such an interval does not prove equality.
 */
function sentenceOf({ from, to, difference }: VariantDifference): string {
  const { interval } = difference;
  const verdict =
    interval === undefined
      ? 'too few tasks to tell'
      : interval.low > 0
        ? 'better'
        : interval.high < 0
          ? 'worse'
          : 'no difference shown';
  return `- ${from} → ${to}: ${changeOf(difference)}, ${verdict}.`;
}

const changeOf = ({ mean, interval }: PairedDifference): string =>
  `${mean < 0 ? '' : '+'}${fixed(mean)} (${rangeOf(interval)})`;

const rangeOf = (interval: Interval | undefined): string =>
  interval ? `${fixed(interval.low)} to ${fixed(interval.high)}` : 'unknown';

const fixed = (value: number): string => value.toFixed(3);
const money = (dollars: number): string => dollars.toPrecision(2);

function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
