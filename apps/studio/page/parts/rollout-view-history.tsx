/** The same task in the course of a run. */
import type { TaskHistory } from '@trinity-rft/inspect/studio/interface';
import { numberText } from '../numbers.js';
import { words as rollouts } from '../words/rollouts.js';
import { Sparkline } from './sparkline.js';

const { history: words } = rollouts;

interface HistoryViewProps extends TaskHistory {
  readonly onOpen: (row: number) => void;
}

export function HistoryView({ question, row, times, left, progress, onOpen }: HistoryViewProps) {
  return (
    <>
      <h2>{question}</h2>
      {row === undefined && <p>{words.none}</p>}
      {progress && <p role="status">{words.reading(progress.done, progress.of)}</p>}
      {progress === undefined && times.length === 1 && <p>{words.once}</p>}
      {times.length > 1 && <p>{courseOf(times)}</p>}
      <Sparkline values={times.map(({ meanReward }) => meanReward ?? null)} />
      {times.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={rollouts.views.history}>
          <table class="history">
            <thead>
              <tr>
                {Object.values(words.columns).map((label) => (
                  <th key={label} scope="col">
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
      <button type="button" onClick={() => onOpen(id)}>
        {words.open}
        <span class="hidden"> {id}</span>
      </button>
    </td>
  );
}
