/** History of a task: its rewards by policy version, and a diff of two responses. */
import type { TaskHistory, Trace } from '@trinity-rft/inspect/studio/interface';
import { diffWordsWithSpace } from 'diff';
import { useMemo, useState } from 'preact/hooks';
import { Empty } from '../design/states.js';
import { numberText } from '../numbers.js';
import { words as rollouts } from '../words/rollouts.js';
import { Sparkline } from './sparkline.js';

const { history: words } = rollouts;

interface HistoryViewProps extends TaskHistory {
  /** Rollout whose task is shown. */
  readonly trace: Trace;
  readonly onOpen: (row: number) => void;
}

export function HistoryView({ row, times, left, progress, trace, onOpen }: HistoryViewProps) {
  if (row === undefined) return <Empty title={words.none} />;
  return (
    <>
      {progress && <p role="status">{words.reading(progress.done, progress.of)}</p>}
      <DiffView times={times} trace={trace} />
      {times.length === 1 && <p>{words.once}</p>}
      {times.length > 1 && <p>{courseOf(times)}</p>}
      <Sparkline values={times.map(({ meanReward }) => meanReward ?? null)} />
      {times.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={rollouts.tabs.history}>
          <table class="history">
            <thead>
              <tr>
                {Object.entries(words.columns).map(([name, label]) => (
                  <th key={name} scope="col">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map(({ batch, policyVersion, attempts, meanReward, best, worst }) => (
                <tr key={batch}>
                  <th scope="row">{batch}</th>
                  <td>{policyVersion}</td>
                  <td>{attempts}</td>
                  <td>{numberText(meanReward)}</td>
                  <AnswerCell answer={best} onOpen={onOpen} />
                  <AnswerCell answer={worst} onOpen={onOpen} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {left > 0 && <p>{words.left(left)}</p>}
    </>
  );
}

interface Answer {
  readonly key: string;
  readonly label: string;
  readonly text: string;
}

/**
 * Returns the responses to choose from: that of this rollout, then the best and the worst of each
 * explore step.
 */
function answersOf(times: TaskHistory['times'], { answer, reward }: Trace): readonly Answer[] {
  const own = { key: 'own', label: words.own(numberText(reward)), text: answer };
  const others = times.flatMap(({ batch, policyVersion, best, worst }) => {
    const one = (which: 'best' | 'worst', of: typeof best): Answer => ({
      key: `${which} ${batch}`,
      label: words.answerOf[which](policyVersion, numberText(of.reward)),
      text: of.text,
    });
    return best.id === worst.id ? [one('best', best)] : [one('best', best), one('worst', worst)];
  });
  return [own, ...others];
}

function DiffView({ times, trace }: Pick<HistoryViewProps, 'times' | 'trace'>) {
  const answers = answersOf(times, trace);
  const [chosen, setChosen] = useState<readonly [string, string]>();
  const other = answers.find(({ text }) => text !== trace.answer);
  const [from, to] = chosen ?? [other?.key ?? 'own', 'own'];
  const textOf = (key: string): string => answers.find((answer) => answer.key === key)?.text ?? '';
  const [before, after] = [textOf(from), textOf(to)];
  const changes = useMemo(() => diffWordsWithSpace(before, after), [before, after]);
  if (answers.length < 2) return null;
  return (
    <section class="card diff" aria-label={words.diff}>
      <h3>{words.diff}</h3>
      <p class="controls">
        <Choice
          label={words.from}
          answers={answers}
          value={from}
          onChoose={(key) => setChosen([key, to])}
        />
        <Choice
          label={words.to}
          answers={answers}
          value={to}
          onChoose={(key) => setChosen([from, key])}
        />
      </p>
      <div class="said" tabIndex={0} role="group" aria-label={words.diff}>
        {changes.map(({ value, added, removed }, i) =>
          added ? (
            <ins key={i}>{value}</ins>
          ) : removed ? (
            <del key={i}>{value}</del>
          ) : (
            <span key={i}>{value}</span>
          ),
        )}
      </div>
      {before === after && <p class="faint">{words.same}</p>}
    </section>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly answers: readonly Answer[];
  readonly value: string;
  readonly onChoose: (key: string) => void;
}

const Choice = ({ label, answers, value, onChoose }: ChoiceProps) => (
  <label>
    {label}{' '}
    <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {answers.map((answer) => (
        <option key={answer.key} value={answer.key}>
          {answer.label}
        </option>
      ))}
    </select>
  </label>
);

function courseOf(times: TaskHistory['times']): string {
  const [first, latest] = [times.at(0), times.at(-1)];
  if (first?.meanReward === undefined || latest?.meanReward === undefined) return '';
  return words.course(
    { batch: first.batch, reward: numberText(first.meanReward) },
    { batch: latest.batch, reward: numberText(latest.meanReward) },
  );
}

interface AnswerCellProps {
  readonly answer: TaskHistory['times'][number]['best'];
  readonly onOpen: (row: number) => void;
}

const shown = 200;

function AnswerCell({ answer: { id, reward, text }, onOpen }: AnswerCellProps) {
  return (
    <td>
      <span title={text}>{text.length > shown ? `${text.slice(0, shown)} ...` : text}</span>{' '}
      <small class="faint">{numberText(reward)}</small>{' '}
      <button type="button" class="quiet" onClick={() => onOpen(id)}>
        {words.open}
        <span class="hidden"> {id}</span>
      </button>
    </td>
  );
}
