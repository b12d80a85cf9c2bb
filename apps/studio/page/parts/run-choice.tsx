/** Another run for the same page. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { addressOf, type Place } from '../place.js';
import { words as frame } from '../words/frame.js';

interface RunChoiceProps {
  readonly place: Place;
  readonly runs: readonly RunSummary[];
}

/** Pages of all runs, and those that choose for themselves. */
const without: readonly string[] = ['runs', 'compare'];

export function RunChoice({ place: { page, runs: chosen }, runs }: RunChoiceProps) {
  if (without.includes(page) || runs.length === 0) return <span class="place" />;
  return (
    <label class="place">
      {frame.run}{' '}
      <select
        value={chosen[0]}
        onChange={({ currentTarget }) => (location.hash = addressOf(page, [currentTarget.value]))}
      >
        {chosen[0] !== undefined && !runs.some(({ id }) => id === chosen[0]) && (
          <option value={chosen[0]}>{chosen[0]}</option>
        )}
        {runs
          .map(({ id }) => id)
          .toSorted()
          .map((id) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
      </select>
    </label>
  );
}
