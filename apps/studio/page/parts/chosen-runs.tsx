/** The runs of the page with their colours, each with a button that removes it. */
import { mostRuns } from '../metrics.js';
import { addressOf, type Place } from '../place.js';
import { words as curves } from '../words/metrics.js';
import { colourOf } from './chart.js';

interface ChosenRunsProps {
  readonly page: string;
  readonly ids: readonly string[];
  readonly place: Place;
}

export function ChosenRuns({ page, ids, place }: ChosenRunsProps) {
  if (ids.length < 2) return null;
  return (
    <ul class="chosen" aria-label={curves.runs}>
      {ids.map((id, i) => (
        <li key={id}>
          <span class="swatch" style={{ '--colour': colourOf(i) }} /> {id}{' '}
          <a
            href={addressOf(
              page,
              ids.filter((other) => other !== id),
              place.query,
            )}
            aria-label={curves.without(id)}
          >
            ×
          </a>
        </li>
      ))}
      {place.runs.length > mostRuns && <li>{curves.tooMany(place.runs.length)}</li>}
    </ul>
  );
}
