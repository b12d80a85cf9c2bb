/**
 * Renders recorded answers of evaluations: answers from the first weights next to answers from the
 * last.
 */
import { ConfigError } from '@trinity-rft/core';
import { visible } from '../debug/visible.js';
import { gainOf, readAnswers, type Answered, type AnsweredSet } from './answers.js';
import type { RunReport } from './run-report.js';

/** Maximum lengths of a question and of an answer, in characters. */
const [mostOfQuestion, mostOfAnswer] = [160, 240];

/**
 * Renders answers as `trinity log --answers` prints them.
 * @param most maximum number of tasks per set; the tasks whose reward changed most are shown
 * @throws ConfigError when no answers of evaluations are recorded
 */
export async function renderAnswers(
  { jobDirectory, stages }: RunReport,
  most: number,
): Promise<string> {
  const parts: string[] = [];
  for (const { directory, checkpoint } of stages)
    for (const set of await readAnswers(directory, checkpoint?.directory))
      parts.push(renderSet(set, most));
  if (parts.length > 0) return visible(parts.join('\n'));
  throw new ConfigError(
    `No answers of evaluations are recorded in ${jobDirectory}. Give the run eval_tasksets, or evaluate it: trinity eval FILE.`,
    { code: 'NOTHING_RECORDED' },
  );
}

function renderSet({ set, first, last, tasks }: AnsweredSet, most: number): string {
  const shown = tasks.toSorted((a, b) => Math.abs(gainOf(b)) - Math.abs(gainOf(a))).slice(0, most);
  const count = (holds: (gained: number) => boolean): number =>
    tasks.filter((task) => holds(gainOf(task))).length;
  const title =
    first === last
      ? `${set}: answers after step ${last}, ${tasks.length} tasks`
      : `${set}: answers after steps ${first} and ${last}, ${tasks.length} tasks: ${count((x) => x > 0)} better, ${count((x) => x < 0)} worse, ${count((x) => x === 0)} same`;
  const blocks = shown.map(({ row, question, before, after }) => {
    const sides =
      first === last
        ? [[last, after] as const]
        : [[first, before] as const, [last, after] as const];
    const lines = sides.map(([version, answered]) => {
      const why = (answered?.reasons ?? []).map((one) => `\n      ${shortened(oneLine(one))}`);
      const step = String(version).padEnd(String(last).length);
      return `    step ${step}  ${answered ? saidText(answered) : 'failed'}${why.join('')}`;
    });
    const asked = question === undefined ? '' : `  ${oneLine(question).slice(-mostOfQuestion)}`;
    return [`  row ${row}${asked}`, ...lines, ''].join('\n');
  });
  return `${title}\n\n${blocks.join('\n')}`;
}

const saidText = ({ reward, answers }: Answered): string =>
  `reward ${Number(reward.toPrecision(3))}  ${shortened(answers.map(oneLine).join(' -> '))}`;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const shortened = (text: string): string =>
  text.length > mostOfAnswer ? `${text.slice(0, mostOfAnswer)}...` : text;
