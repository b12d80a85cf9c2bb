/** Keeps the list of runs and the shown run up to date. */
import type { RunEvent, RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useState } from 'preact/hooks';
import { followRuns, isResting, key } from '../api.js';
import type { Place } from '../place.js';
import { words } from '../words/frame.js';

export interface Live {
  readonly runs: readonly RunSummary[] | undefined;
  readonly left: number;
  readonly status: string;
  /** Command that opens the studio again, if it has ended with its run. */
  readonly ended: string | undefined;
}

export function useRuns(): Live {
  const [runs, setRuns] = useState<Live['runs']>();
  const [left, setLeft] = useState(0);
  const [status, setStatus] = useState<string>(words.connecting);
  const [ended, setEnded] = useState<string>();
  useEffect(() => {
    if (key === '') return setStatus(words.noKey);
    let all: Live['runs'];
    // A hidden page does not render, because local training may need the computing time.
    const show = (): void => {
      if (!isResting() && all !== undefined) setRuns(all);
    };
    document.addEventListener('visibilitychange', show);
    void followRuns(
      (event) => {
        all = merged(all, event);
        setLeft(event.left);
        setEnded(event.ended);
        if (event.ended !== undefined) setStatus(words.over);
        show();
      },
      (isConnected, problem) => {
        // The first event of a connection has all runs, without those that were removed meanwhile.
        if (isConnected) all = undefined;
        setStatus(isConnected ? words.live : `${words.reconnecting} ${problem ?? ''}`);
      },
    );
    return undefined;
  }, []);
  return { runs, left, status, ended };
}

/** Merges changed runs into the list. The run that changed last comes first. */
function merged(
  before: readonly RunSummary[] = [],
  { runs: changed, gone }: RunEvent,
): readonly RunSummary[] {
  const away = new Set([...gone, ...changed.map(({ id }) => id)]);
  return [...changed, ...before.filter(({ id }) => !away.has(id))].toSorted(
    (a, b) => b.changedAt - a.changedAt,
  );
}

/**
 * Returns the place with a run. If it names none, this is the run that had changed most recently
 * when the page was opened.
 */
export function useChosen(place: Place, runs: Live['runs']): Place {
  const [first, setFirst] = useState<string>();
  const [latest] = runs ?? [];
  useEffect(() => setFirst((before) => before ?? latest?.id), [latest?.id]);
  return place.runs.length > 0 || first === undefined ? place : { ...place, runs: [first] };
}
