/** Axis of curves; kept in the address. */
import { axisOf } from '../metrics.js';
import { addressOf, type Place } from '../place.js';
import { texts } from '../texts.js';

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
      {texts.curves.over}{' '}
      <select
        name="axis"
        value={axisOf(place.query['axis'])}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {Object.entries(texts.axes).map(([axis, label]) => (
          <option key={axis} value={axis}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
