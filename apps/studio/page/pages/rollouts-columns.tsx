/** Columns of the rollout table, and the choice of shown columns. */
import type { Rollout } from '@trinity-rft/inspect/studio/interface';
import type { ComponentChildren } from 'preact';
import { numberText, secondsText } from '../numbers.js';
import { useStored } from '../parts/stored.js';
import { problemText } from '../parts/problem-text.js';
import { words } from '../words/rollouts.js';

export type ColumnName = keyof typeof words.columns;

interface Column {
  /** Width of the column, as a track size of CSS grid. */
  readonly width: string;
  /**
   * Sort key of the column in requests to the server.
   * @default undefined: rollouts cannot be sorted by this column
   */
  readonly sort?: string;
  readonly isNumber?: boolean;
  readonly cell: (rollout: Rollout) => ComponentChildren;
  /** Tooltip of the cell. @default the text of the cell */
  readonly title?: (rollout: Rollout) => string;
}

const number = (sort: keyof Rollout, width = '5.5em'): Column => ({
  width,
  sort,
  isNumber: true,
  cell: (rollout) => {
    const value = rollout[sort];
    return typeof value === 'number' ? numberText(value) : '';
  },
});

const text = (name: 'question' | 'answer' | 'truth', width: string): Column => ({
  width,
  cell: (rollout) => rollout[name] ?? '',
});

export const columns: Readonly<Record<ColumnName, Column>> = {
  step: number('step', '4.5em'),
  question: text('question', 'minmax(8em, 3fr)'),
  answer: text('answer', 'minmax(8em, 3fr)'),
  truth: text('truth', 'minmax(5em, 1fr)'),
  reward: { ...number('reward', '5em'), cell: (rollout) => <Reward {...rollout} /> },
  parts: {
    width: 'minmax(8em, 1.5fr)',
    cell: ({ parts }) =>
      Object.entries(parts)
        .map(([name, value]) => `${name} ${numberText(value)}`)
        .join(', '),
  },
  advantage: number('advantage', '6em'),
  turns: number('turns', '4em'),
  toolCalls: {
    width: 'minmax(6em, 1.3fr)',
    sort: 'toolCalls',
    cell: ({ tools, toolCalls }) => words.toolCalls(tools, toolCalls),
  },
  responseTokens: {
    width: '4.5em',
    sort: 'responseTokens',
    isNumber: true,
    cell: ({ responseTokens }) => String(responseTokens),
    title: ({ promptTokens, responseTokens }) => words.tokens(promptTokens, responseTokens),
  },
  seconds: {
    width: '5em',
    sort: 'seconds',
    isNumber: true,
    cell: ({ seconds }) => (seconds === undefined ? '' : secondsText(seconds)),
  },
  policyVersion: number('policyVersion', '4.5em'),
  staleness: number('staleness'),
  id: { width: '6em', sort: 'id', cell: ({ batch, task, run }) => `${batch}/${task}/${run}` },
  problem: {
    width: 'minmax(7em, 1fr)',
    cell: ({ problemKind }) =>
      problemKind && <span class={`kind ${problemKind}`}>{words.problems[problemKind]}</span>,
    title: ({ problem = '' }) => problemText(problem),
  },
};

const Reward = ({ reward }: Pick<Rollout, 'reward'>) =>
  reward === undefined ? null : (
    <span class={reward > 0 ? 'reward good' : 'reward'}>{numberText(reward)}</span>
  );

const all = Object.keys(columns) as ColumnName[];
const wide: readonly ColumnName[] = [
  'step',
  'question',
  'answer',
  'truth',
  'reward',
  'advantage',
  'turns',
  'toolCalls',
  'responseTokens',
  'seconds',
  'problem',
];
const narrow: readonly ColumnName[] = ['question', 'reward', 'problem'];
const isNarrow = (): boolean => matchMedia('(max-width: 48rem)').matches;

export const isColumns = (value: unknown): value is readonly ColumnName[] =>
  Array.isArray(value) && value.length > 0 && value.every((name) => all.includes(name as never));

/**
 * Returns the columns that are shown, in the order of the table, and a function that changes them.
 */
export function useColumns(): [readonly ColumnName[], (names: readonly ColumnName[]) => void] {
  const [chosen, setChosen] = useStored<readonly ColumnName[]>(
    'trinity-studio-rollout-columns',
    isNarrow() ? narrow : wide,
    isColumns,
  );
  return [all.filter((name) => chosen.includes(name)), setChosen];
}
