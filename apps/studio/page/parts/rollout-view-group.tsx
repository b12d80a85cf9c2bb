/** Attempts at one task side by side: the best, the worst, then the others. */
import type { Attempt, Group } from '@trinity-rft/inspect/studio/interface';
import { numberText, secondsText } from '../numbers.js';
import { words } from '../words/rollouts.js';
import { problemText } from './problem-text.js';
import { FactList } from './rollout-view-facts.js';

interface GroupViewProps extends Group {
  readonly onOpen: (row: number) => void;
}

export function GroupView({ attempts, missing, onOpen }: GroupViewProps) {
  const rewards = attempts.map(({ reward }) => reward);
  const [best, worst] = [rewards.at(0), rewards.at(-1)];
  const [first, last] = [attempts.slice(0, 1), attempts.slice(1).slice(-1)];
  const shown = best === worst ? attempts : [...first, ...last, ...attempts.slice(1, -1)];
  return (
    <>
      {attempts.length > 1 && best === worst && <p>{words.group.equal}</p>}
      <div class="side-by-side" role="group" aria-label={words.tabs.group}>
        {shown.map((attempt, i) => (
          <AttemptView
            key={attempt.run}
            attempt={attempt}
            badge={
              best === worst
                ? undefined
                : attempt.reward === best
                  ? words.group.best
                  : attempt.reward === worst
                    ? words.group.worst
                    : undefined
            }
            same={shown.slice(0, i).find((other) => textOf(other) === textOf(attempt))?.run}
            onOpen={onOpen}
          />
        ))}
      </div>
      {missing.length > 0 && (
        <>
          <h3>{words.group.missing}</h3>
          <FactList
            facts={Object.fromEntries(
              missing.map(({ run, failure }) => [words.group.attempt(run), failure]),
            )}
          />
        </>
      )}
    </>
  );
}

const textOf = ({ calls }: Attempt): string => JSON.stringify(calls.map(({ text }) => text));

interface AttemptViewProps {
  readonly attempt: Attempt;
  readonly badge: string | undefined;
  /** Number of the earlier attempt with the same text; undefined if there is none. */
  readonly same: number | undefined;
  readonly onOpen: (row: number) => void;
}

function AttemptView({ attempt, badge, same, onOpen }: AttemptViewProps) {
  const { run, reward, advantage, policyVersion, responseTokens, turns, toolCalls, seconds } =
    attempt;
  const parts = Object.entries(attempt.parts).map(([name, value]) => [name, numberText(value)]);
  const [first] = attempt.calls;
  return (
    <article>
      <h3>
        {words.group.attempt(run)}
        {badge !== undefined && <span class="badge">{badge}</span>}
      </h3>
      <FactList
        facts={{
          [words.facts.reward]: numberText(reward),
          ...(parts.length > 1 ? (Object.fromEntries(parts) as Record<string, string>) : {}),
          [words.facts.advantage]: numberText(advantage),
          [words.facts.version]: policyVersion,
          [words.facts.tokens]: responseTokens,
          [words.facts.turns]: turns === 1 ? undefined : turns,
          [words.facts.toolCalls]: toolCalls === 0 ? undefined : toolCalls,
          [words.facts.seconds]: seconds === undefined ? undefined : secondsText(seconds),
          [words.facts.problem]: attempt.problem && problemText(attempt.problem),
        }}
      />
      {first && (
        <button type="button" onClick={() => onOpen(first.id)}>
          {words.group.open}
          <span class="hidden"> {words.group.attempt(run)}</span>
        </button>
      )}
      {same !== undefined && <p class="faint">{words.group.same(same)}</p>}
      {attempt.calls.map(({ id, step, text }) => (
        <div key={`${id}/${step}`}>
          {attempt.calls.length > 1 && <div class="speaker">{words.call(step)}</div>}
          <pre class="said" tabIndex={0}>
            {text}
          </pre>
        </div>
      ))}
    </article>
  );
}
