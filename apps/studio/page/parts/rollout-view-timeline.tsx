/** Turns of a rollout, and the times between them in which the agent ran its tools. */
import type { Trace, Turn } from '@trinity-rft/inspect/studio/interface';
import { MessageSquare, TriangleAlert, Wrench, type IconNode } from 'lucide';
import { Icon } from '../design/icon.js';
import { secondsText } from '../numbers.js';
import { problemText } from './problem-text.js';
import { words } from '../words/rollouts.js';

const { timeline } = words;

interface Entry {
  readonly kind: 'turn' | 'tools';
  readonly label: string;
  readonly detail: string;
  /** Seconds from the start of the rollout; undefined if they were not recorded. */
  readonly start: number | undefined;
  readonly seconds: number | undefined;
  /** Row of the store that contains the turn. */
  readonly id: number;
  readonly problem?: string | undefined;
}

/**
 * Minimum duration, in seconds, of a gap between turns that is shown although no tool was called.
 */
const shortest = 0.05;

interface TimelineViewProps extends Trace {
  readonly onTurn: (id: number) => void;
}

export function TimelineView({ turnList, seconds = 0, onTurn }: TimelineViewProps) {
  const entries = turnList.flatMap((turn, i) => entriesOf(turn, turnList[i + 1]));
  const isTimed = seconds > 0 && turnList.every(({ start }) => start !== undefined);
  return (
    <section class="card timeline" aria-label={timeline.title}>
      <h3>{timeline.title}</h3>
      <ol>
        {entries.map((entry, i) => (
          <li key={i} class={entry.kind}>
            <button type="button" class="quiet" onClick={() => onTurn(entry.id)}>
              <Icon of={icons[entry.kind]} />
              <span class="label">{entry.label}</span>
              <span class="detail">{entry.detail}</span>
              {isTimed && (
                <>
                  <span class="track" aria-hidden="true">
                    <span
                      class="bar"
                      ref={(bar) => {
                        const share = (value = 0): string => `${(100 * value) / seconds}%`;
                        bar?.style.setProperty('inset-inline-start', share(entry.start));
                        bar?.style.setProperty('width', share(entry.seconds));
                      }}
                    />
                  </span>
                  <span class="number">
                    {entry.seconds === undefined ? '' : secondsText(entry.seconds)}
                  </span>
                </>
              )}
              {entry.problem !== undefined && (
                <span class="kind" title={problemText(entry.problem)}>
                  <Icon of={TriangleAlert} label={problemText(entry.problem)} />
                </span>
              )}
            </button>
          </li>
        ))}
      </ol>
      {!isTimed && <p class="faint">{timeline.untimed}</p>}
    </section>
  );
}

const icons: Readonly<Record<Entry['kind'], IconNode>> = { turn: MessageSquare, tools: Wrench };

function entriesOf(turn: Turn, next: Turn | undefined): readonly Entry[] {
  const { id, start, seconds, tools, text, responseTokens, problem } = turn;
  const own: Entry = {
    kind: 'turn',
    label: words.call(turn.step),
    detail: [timeline.tokens(responseTokens), text].filter((part) => part !== '').join(' · '),
    start,
    seconds,
    id,
    problem,
  };
  const end = start === undefined || seconds === undefined ? undefined : start + seconds;
  const pause = end === undefined || next?.start === undefined ? undefined : next.start - end;
  if (tools.length === 0 && (pause === undefined || pause < shortest)) return [own];
  const names = tools.map((name) => (name === '' ? timeline.unknownTool : name));
  const label = tools.length === 0 ? timeline.agent : timeline.tools(tools.length);
  return [own, { kind: 'tools', label, detail: names.join(', '), start: end, seconds: pause, id }];
}
