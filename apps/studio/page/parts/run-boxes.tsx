import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useState } from 'preact/hooks';
import { Search } from '../design/search.js';
import { mostRuns } from '../metrics.js';
import { agoText, intervalText, numberText } from '../numbers.js';
import { addressOf, type Place } from '../place.js';
import { words as compare } from '../words/compare.js';
import { words as runsWords } from '../words/runs.js';

interface RunBoxesProps {
  readonly page: string;
  readonly runs: readonly RunSummary[];
  readonly place: Place;
}

/** Maximum number of listed runs. */
const most = 50;

/**
 * Checkboxes that choose the runs of a page. The list is expanded until at least two runs are
 * checked.
 */
export function RunBoxes({ page, runs, place }: RunBoxesProps) {
  const { runs: ticked, query } = place;
  const [search, setSearch] = useState('');
  const toggle = (id: string): void => {
    const others = ticked.filter((each) => each !== id);
    location.hash = addressOf(
      page,
      others.length < ticked.length ? others : [...ticked, id],
      query,
    );
  };
  const found = runs.filter(({ id, notes: { tags } }) =>
    [id, ...tags].some((text) => text.toLowerCase().includes(search.toLowerCase())),
  );
  return (
    <details class="boxes" open={ticked.length < 2}>
      <summary>
        <span>
          {compare.choose} <small class="faint">{compare.chosen(ticked.length, mostRuns)}</small>
        </span>
      </summary>
      <Search label={runsWords.search} value={search} onInput={setSearch} />
      {found.slice(0, most).map((run) => (
        <label key={run.id} class="pick">
          <input
            type="checkbox"
            checked={ticked.includes(run.id)}
            disabled={!canToggle(run.id, ticked)}
            onChange={() => toggle(run.id)}
          />
          <span>{run.id}</span>
          <Facts run={run} />
        </label>
      ))}
      {found.length > most && <p class="faint">{compare.more(most, found.length)}</p>}
    </details>
  );
}

/**
 * True if the checkbox can be changed. The last checked run must remain checked, because a page
 * without chosen runs shows the newest run.
 */
const canToggle = (id: string, ticked: readonly string[]): boolean =>
  ticked.includes(id) ? ticked.length > 1 : ticked.length < mostRuns;

const Facts = ({ run: { state, evaluation, reward, changedAt } }: { readonly run: RunSummary }) => (
  <small class="faint">
    {[
      runsWords.states[state],
      reward !== undefined && `${runsWords.columns.reward} ${numberText(reward)}`,
      evaluation && `${runsWords.columns.evaluation} ${intervalText(evaluation)}`,
      agoText(changedAt),
    ]
      .filter(Boolean)
      .join(' · ')}
  </small>
);
