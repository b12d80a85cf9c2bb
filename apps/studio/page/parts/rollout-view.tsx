/**
 * View of a rollout: summary and timeline, conversation, other attempts at the task, history of the
 * task, and record.
 */
import type {
  Conversation,
  Group,
  RolloutDetail,
  TaskHistory,
  Trace,
} from '@trinity-rft/inspect/studio/interface';
import { ChevronDown, ChevronUp } from 'lucide';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { runPath } from '../api.js';
import { Icon } from '../design/icon.js';
import { Problem, Skeleton } from '../design/states.js';
import { words } from '../words/rollouts.js';
import { ConversationView } from './rollout-view-conversation.js';
import { GroupView } from './rollout-view-group.js';
import { HistoryView } from './rollout-view-history.js';
import { RecordView } from './rollout-view-record.js';
import { SummaryView } from './rollout-view-summary.js';
import { TimelineView } from './rollout-view-timeline.js';
import { useAnswer } from './use-answers.js';

const tabs = Object.keys(words.tabs) as (keyof typeof words.tabs)[];

interface RolloutViewProps {
  readonly run: string;
  readonly row: number;
  readonly view: string;
  readonly onView: (view: string) => void;
  readonly onOpen: (row: number) => void;
  /** Opens the rollout that is `by` rows below this one in the list. */
  readonly onStep: (by: number) => void;
}

export function RolloutView({ run, row, view, onView, onOpen, onStep }: RolloutViewProps) {
  return (
    <div class="rollout-view">
      <div class="neighbours">
        <button
          type="button"
          class="quiet icon-only"
          aria-label={words.previous}
          title={words.previous}
          onClick={() => onStep(-1)}
        >
          <Icon of={ChevronUp} />
        </button>
        <button
          type="button"
          class="quiet icon-only"
          aria-label={words.next}
          title={words.next}
          onClick={() => onStep(1)}
        >
          <Icon of={ChevronDown} />
        </button>
      </div>
      <Asked
        key={`${run} ${row}`}
        path={runPath(run, `rollouts/${row}/trace`)}
        view={(trace: Trace) => (
          <TraceView
            run={run}
            row={row}
            trace={trace}
            view={view}
            onView={onView}
            onOpen={onOpen}
          />
        )}
      />
    </div>
  );
}

interface TraceViewProps extends Omit<RolloutViewProps, 'onStep'> {
  readonly trace: Trace;
}

function TraceView({ run, row, trace, view, onView, onOpen }: TraceViewProps) {
  const shown = tabs.find((name) => name === view) ?? 'conversation';
  const [turn, setTurn] = useState<number>();
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = tabs[(tabs.indexOf(shown) + step + tabs.length) % tabs.length];
    if (next) onView(next);
    (event.currentTarget as HTMLElement)
      .querySelector<HTMLElement>(`[data-view=${next ?? shown}]`)
      ?.focus();
    event.preventDefault();
  };
  return (
    <>
      <SummaryView {...trace} />
      <TimelineView
        {...trace}
        onTurn={(id) => {
          setTurn(id);
          onView('conversation');
        }}
      />
      <div role="tablist" aria-label={words.rollout} onKeyDown={onKeyDown}>
        {tabs.map((name) => (
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
            {words.tabs[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="rollout-view" aria-labelledby={`tab-${shown}`} tabIndex={0}>
        <Panel key={shown} {...{ run, row, shown, trace, turn, onOpen }} />
      </div>
    </>
  );
}

interface PanelProps {
  readonly run: string;
  readonly row: number;
  readonly shown: (typeof tabs)[number];
  readonly trace: Trace;
  /** Row of the turn to scroll to; undefined for no scrolling. */
  readonly turn: number | undefined;
  readonly onOpen: (row: number) => void;
}

function Panel({ run, row, shown, trace, turn, onOpen }: PanelProps) {
  const path = runPath(run, `rollouts/${row}${shown === 'record' ? '' : `/${shown}`}`);
  if (shown === 'conversation')
    return (
      <Asked
        path={path}
        view={(answer: Conversation) => (
          <ConversationView of={run} row={row} conversation={answer} turn={turn} />
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
        view={(answer: TaskHistory) => <HistoryView {...answer} trace={trace} onOpen={onOpen} />}
      />
    );
  return <Asked path={path} view={(answer: RolloutDetail) => <RecordView {...answer} />} />;
}

interface AskedProps<T> {
  readonly path: string;
  readonly view: (answer: T) => JSX.Element;
}

/** Loads the data at `path`, and renders it with `view`. */
function Asked<T>({ path, view }: AskedProps<T>) {
  const { answer, problem } = useAnswer<T>(path);
  if (problem !== undefined) return <Problem text={problem} />;
  return answer === undefined ? <Skeleton /> : view(answer);
}
