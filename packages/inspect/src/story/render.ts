/** The story of a run for a terminal. */
import { alignColumns } from '@trinity-rft/core/support';
import { plotCurve } from '@trinity-rft/monitor';
import { costFigures, duration, fixed, percent } from '../studio/interface/figures.js';
import { visible } from '../debug/visible.js';
import type { Story } from '../studio/interface/types.js';

const plot = { width: 60, height: 6 };
/** Maximum number of characters of a question and an answer. */
const mostText = 100;

/**
 * Renders the verdict, curve, answers, causes, next steps and cost, as `trinity report` prints
 * them.
 */
export function renderStory(story: Story): string {
  const { name, verdict } = story;
  const parts = [
    [`${verdict.headline} ${name}`, indented(verdict.text)],
    curveLines(story),
    answerLines(story),
    story.findings.flatMap(({ title, text, advice }) => [title, indented(text), indented(advice)]),
    costLines(story),
    nextLines(story),
  ];
  const text = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
  return `${visible(text)}\n`;
}

function curveLines({ reward }: Story): readonly string[] {
  const values = (reward?.values ?? []).map((value) => value ?? Number.NaN);
  const known = values.filter((value) => Number.isFinite(value));
  if (!reward || new Set(known).size < 2) return [];
  const steps = [reward.x.at(0) ?? 1, reward.x.at(-1) ?? values.length] as const;
  return [plotCurve(values, { ...plot, steps, title: reward.title })];
}

const answerKinds = { gain: 'largest gain', loss: 'largest loss', typical: 'typical' } as const;

function answerLines({ answers, noAnswers }: Story): readonly string[] {
  if (noAnswers !== undefined) return [noAnswers];
  const saidText = ({ reward, answer }: Story['answers'][number]['before']): string =>
    `${fixed(reward)}  ${oneLine(answer)}`;
  return answers.flatMap(({ kind, set, row, question, before, after }) => [
    `${answerKinds[kind]}: ${oneLine(question)}  (${set}, row ${row})`,
    `  before  ${saidText(before)}`,
    `  after   ${saidText(after)}`,
  ]);
}

function costLines({ cost, time }: Story): readonly string[] {
  const figures = costFigures(cost).map(([label, value]) => `${label} ${value}`);
  const times = time.map(({ role, seconds, parts }) => {
    const shares = parts.map(
      (part) => `${part.title} ${percent(part.seconds / seconds)} (${duration(part.seconds)})`,
    );
    return `  ${role.padEnd('explorer'.length)}  ${shares.join(', ')}`;
  });
  return figures.length === 0 ? times : [figures.join(', '), ...times];
}

const nextLines = ({ actions }: Story): readonly string[] => [
  'Next:',
  ...alignColumns(
    actions.map(({ command, title }) => [command, `# ${title}`]),
    '  ',
  ),
];

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > mostText ? `${line.slice(0, mostText)}...` : line;
}
