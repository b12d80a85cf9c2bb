/** Settings of curves: smoothing and logarithmic scale. */
import { words } from '../words/metrics.js';

interface LineStyleProps {
  /** Weight of the previous value in the smoothed value, from 0 to below 1. */
  readonly smooth: number;
  readonly onSmooth: (smooth: number) => void;
  readonly isLog: boolean;
  readonly onLog: (isLog: boolean) => void;
}

export const LineStyle = ({ smooth, onSmooth, isLog, onLog }: LineStyleProps) => (
  <>
    <label>
      {words.smooth}{' '}
      <input
        type="range"
        min="0"
        max="0.98"
        step="0.02"
        value={smooth}
        onInput={({ currentTarget }) => onSmooth(currentTarget.valueAsNumber)}
      />
    </label>
    <label>
      <input
        type="checkbox"
        checked={isLog}
        onChange={({ currentTarget }) => onLog(currentTarget.checked)}
      />{' '}
      {words.log}
    </label>
  </>
);
