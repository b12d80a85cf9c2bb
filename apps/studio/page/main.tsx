/** The page: its frame, and which part is shown. */
import type { RunEvent, RunSummary } from '@trinity-rft/inspect/studio/interface';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { followRuns, key } from './api.js';
import { pages } from './pages.js';
import { RunChoice } from './parts/run-choice.js';
import { addressOf, usePlace, type Place } from './place.js';
import './style.css';
import { words as frame } from './words/frame.js';

interface Live {
  readonly runs: readonly RunSummary[] | undefined;
  readonly left: number;
  readonly status: string;
}

function useRuns(): Live {
  const [runs, setRuns] = useState<Live['runs']>();
  const [left, setLeft] = useState(0);
  const [status, setStatus] = useState<string>(frame.connecting);
  useEffect(() => {
    if (key === '') return setStatus(frame.noKey);
    let all: Live['runs'];
    // A hidden page takes nothing from the training.
    const show = (): void => {
      if (!document.hidden) setRuns(all);
    };
    document.addEventListener('visibilitychange', show);
    void followRuns(
      (event) => {
        all = merged(all, event);
        setLeft(event.left);
        show();
      },
      (isConnected, problem) =>
        setStatus(isConnected ? frame.live : `${frame.reconnecting} ${problem ?? ''}`),
    );
    return undefined;
  }, []);
  return { runs, left, status };
}

/** The one that changed last first. */
function merged(
  before: readonly RunSummary[] = [],
  { runs: changed, gone }: RunEvent,
): readonly RunSummary[] {
  const away = new Set([...gone, ...changed.map(({ id }) => id)]);
  return [...changed, ...before.filter(({ id }) => !away.has(id))].toSorted(
    (a, b) => b.changedAt - a.changedAt,
  );
}

/** Until one is chosen, pages show the run that changed last when the page was opened. */
function useChosen(place: Place, runs: Live['runs']): Place {
  const [first, setFirst] = useState<string>();
  const [latest] = runs ?? [];
  useEffect(() => setFirst((before) => before ?? latest?.id), [latest?.id]);
  return place.runs.length > 0 || first === undefined ? place : { ...place, runs: [first] };
}

function App() {
  const given = usePlace();
  const { runs, left, status } = useRuns();
  const place = useChosen(given, runs);
  const run = runs?.find(({ id }) => id === place.runs[0]);
  const { name: shown, Page } = pages.find(({ name }) => name === place.page) ?? pages[0];
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        {frame.skip}
      </a>
      <header>
        <h1>{frame.title}</h1>
        <nav aria-label={frame.title}>
          {pages.map(({ name }) => (
            <a
              key={name}
              href={addressOf(name, place.runs)}
              aria-current={name === shown ? 'page' : undefined}
            >
              {frame.pages[name]}
            </a>
          ))}
        </nav>
        <RunChoice place={{ ...place, page: shown }} runs={runs ?? []} />
        <output role="status" class={status === frame.live ? 'live' : 'problem'}>
          {status}
        </output>
      </header>
      <main id="main" tabIndex={-1}>
        <Page key={`${shown} ${place.runs[0]}`} runs={runs} left={left} run={run} place={place} />
      </main>
    </>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector('main')?.focus();
}

const root = document.querySelector('#app');
if (root) render(<App />, root);
