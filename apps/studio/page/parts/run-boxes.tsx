/** A box for each run, of which those of the page are ticked. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { mostRuns } from '../metrics.js';
import { addressOf, type Place } from '../place.js';
import { words as compare } from '../words/compare.js';

interface RunBoxesProps {
  readonly page: string;
  readonly runs: readonly RunSummary[];
  readonly place: Place;
}

/** Open until there is something to compare. */
export function RunBoxes({ page, runs, place }: RunBoxesProps) {
  const { runs: ticked, query } = place;
  const toggle = (id: string): void => {
    const others = ticked.filter((each) => each !== id);
    location.hash = addressOf(
      page,
      others.length < ticked.length ? others : [...ticked, id],
      query,
    );
  };
  return (
    <details class="boxes" open={ticked.length < 2}>
      <summary>{compare.choose}</summary>
      {runs.map(({ id }) => (
        <label key={id}>
          <input
            type="checkbox"
            checked={ticked.includes(id)}
            disabled={ticked.length >= mostRuns && !ticked.includes(id)}
            onChange={() => toggle(id)}
          />{' '}
          {id}
        </label>
      ))}
    </details>
  );
}
