/** One rollout: its conversation, the other attempts at its task, the task over time, the record. */
import type {
  Conversation,
  Group,
  RolloutDetail,
  TaskHistory,
} from '@trinity-rft/inspect/studio/interface';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask, runPath } from '../api.js';
import { words } from '../words/rollouts.js';
import { ConversationView } from './rollout-view-conversation.js';
import { GroupView } from './rollout-view-group.js';
import { HistoryView } from './rollout-view-history.js';
import { RecordView } from './rollout-view-record.js';

const views = Object.keys(words.views) as (keyof typeof words.views)[];

interface RolloutViewProps {
  readonly run: string;
  readonly row: number;
  readonly view: string;
  readonly onView: (view: string) => void;
  readonly onOpen: (row: number) => void;
}

export function RolloutView({ run, row, view, onView, onOpen }: RolloutViewProps) {
  const shown = views.find((name) => name === view) ?? 'conversation';
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = views[(views.indexOf(shown) + step + views.length) % views.length];
    if (next) onView(next);
    (event.currentTarget as HTMLElement)
      .querySelector<HTMLElement>(`[data-view=${next ?? shown}]`)
      ?.focus();
    event.preventDefault();
  };
  return (
    <>
      <div role="tablist" aria-label={words.rollout} onKeyDown={onKeyDown}>
        {views.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            data-view={name}
            aria-selected={name === shown}
            aria-controls="rollout-view"
            tabIndex={name === shown ? 0 : -1}
            onClick={() => onView(name)}
          >
            {words.views[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="rollout-view" aria-labelledby={`tab-${shown}`} tabIndex={0}>
        <Panel key={`${run} ${row} ${shown}`} run={run} row={row} shown={shown} onOpen={onOpen} />
      </div>
    </>
  );
}

interface PanelProps {
  readonly run: string;
  readonly row: number;
  readonly shown: (typeof views)[number];
  readonly onOpen: (row: number) => void;
}

function Panel({ run, row, shown, onOpen }: PanelProps) {
  const path = runPath(run, `rollouts/${row}${shown === 'record' ? '' : `/${shown}`}`);
  if (shown === 'conversation')
    return (
      <Asked
        path={path}
        view={(answer: Conversation) => (
          <ConversationView of={run} row={row} conversation={answer} />
        )}
      />
    );
  if (shown === 'group')
    return (
      <Asked path={path} view={(answer: Group) => <GroupView {...answer} onOpen={onOpen} />} />
    );
  if (shown === 'history')
    return (
      <Asked
        path={path}
        view={(answer: TaskHistory) => <HistoryView {...answer} onOpen={onOpen} />}
      />
    );
  return <Asked path={path} view={(answer: RolloutDetail) => <RecordView {...answer} />} />;
}

interface AskedProps<T> {
  readonly path: string;
  readonly view: (answer: T) => JSX.Element;
}

const againMs = 500;

/** Answer of the server, asked again until it is complete. */
function Asked<T>({ path, view }: AskedProps<T>) {
  const [answer, setAnswer] = useState<T>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const left = new AbortController();
    const load = (): void => {
      ask<T>(path, left.signal)
        .then((given) => {
          setAnswer(given);
          const { progress } = given as { readonly progress?: unknown };
          if (progress !== undefined && !left.signal.aborted) setTimeout(load, againMs);
        })
        .catch((error: unknown) => {
          if (!left.signal.aborted)
            setProblem(error instanceof Error ? error.message : String(error));
        });
    };
    load();
    return () => left.abort();
  }, [path]);
  if (problem !== undefined) return <p role="alert">{problem}</p>;
  return answer === undefined ? <p>{words.loading}</p> : view(answer);
}
