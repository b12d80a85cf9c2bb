/** Selects the x axis of curves. The choice is stored in the URL. */
import { axisOf } from '../metrics.js';
import { addressOf, type Place } from '../place.js';
import { words as curves } from '../words/metrics.js';
import { words as frame } from '../words/frame.js';

interface AxisChoiceProps {
  readonly page: string;
  readonly place: Place;
  readonly onChange?: () => void;
}

export function AxisChoice({ page, place, onChange }: AxisChoiceProps) {
  const choose = (axis: string): void => {
    onChange?.();
    location.hash = addressOf(page, place.runs, { ...place.query, axis });
  };
  return (
    <label>
      {curves.over}{' '}
      <select
        name="axis"
        value={axisOf(place.query['axis'])}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {Object.entries(frame.axes).map(([axis, label]) => (
          <option key={axis} value={axis}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
