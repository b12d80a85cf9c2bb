/** Selects evaluation tasks to show, with the answers before and after training. */
import { gainOf, type Answered, type AnsweredSet } from '../../report/answers.js';
import { askedText } from '../interface/text-blocks.js';
import type { Story } from '../interface/types.js';

type Pair = Story['answers'][number];

/** Maximum number of characters of a question, an answer and a reason. */
const mostText = 2000;

/**
 * Tasks that were answered in both the first and the last evaluation. The store lacks the answers
 * of failed rollouts, and answers beyond its limit.
 */
const comparable = (sets: readonly AnsweredSet[]) =>
  sets
    .filter(({ first, last }) => first !== last)
    .flatMap(({ set, tasks }) =>
      tasks.flatMap((task) => {
        const { row, question = '', truth, before, after } = task;
        return before && after
          ? [{ set, row, question, truth, before, after, gain: gainOf(task) }]
          : [];
      }),
    );

/**
 * Returns the task with the largest gain, the task with the largest loss, and the one with the
 * median change among the others.
 */
export function answerPairs(sets: readonly AnsweredSet[]): readonly Pair[] {
  const compared = comparable(sets).toSorted((a, b) => b.gain - a.gain);
  const [best, worst] = [compared.at(0), compared.at(-1)];
  const gain = best && best.gain > 0 ? best : undefined;
  const loss = worst && worst.gain < 0 ? worst : undefined;
  const others = compared.filter((each) => each !== gain && each !== loss);
  const typical = others[Math.floor(others.length / 2)];
  return (
    [
      ['gain', gain],
      ['typical', typical],
      ['loss', loss],
    ] as const
  ).flatMap(([kind, found]) => {
    if (!found) return [];
    const { set, row, question, truth, before, after } = found;
    const asked = askedText(question, 'last').slice(-mostText);
    const said = { before: saidOf(before), after: saidOf(after) };
    return [{ kind, set, row, question: asked, truth: truth?.slice(0, mostText), ...said }];
  });
}

/**
 * Returns the reason why no answers can be compared: none are recorded, only one evaluation is
 * recorded, or the two evaluations share no task. Returns undefined if some answers can be
 * compared.
 */
export function noAnswersText(sets: readonly AnsweredSet[]): string | undefined {
  if (sets.length === 0)
    return 'No answers of evaluations are recorded. Give the run eval_tasksets, or use "trinity eval".';
  if (sets.every(({ first, last }) => first === last))
    return `Answers are recorded of one evaluation only, after step ${sets[0]?.last}. A second one makes a comparison.`;
  if (comparable(sets).length === 0)
    return 'The first and the last evaluation have answered no task in common: they read other tasks, or their runs failed. Evaluate the same tasks twice.';
  return undefined;
}

const saidOf = ({ reward, answers, reasons }: Answered): Pair['before'] => ({
  reward,
  answer: answers.join('\n').trim().slice(0, mostText),
  reasons: reasons.map((reason) => reason.slice(0, mostText)),
});
