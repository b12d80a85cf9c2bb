/** Formats numbers and times. */
import { duration } from '@trinity-rft/inspect/studio/interface';

/**
 * Formats a number: as an integer from 1000 on, and with up to four significant digits below 1000.
 * Returns an empty string if there is no value.
 */
export function numberText(value: number | null | undefined): string {
  if (value === undefined || value === null) return '';
  if (Math.abs(value) >= 1000) return String(Math.round(value));
  return String(Number(value.toPrecision(4)));
}

export interface Interval {
  readonly mean: number | null;
  readonly low?: number | null;
  readonly high?: number | null;
}

/** Formats a value with its interval: `0.5 [0.4, 0.6]`; without an interval, only the value. */
export function intervalText(of: Interval | undefined): string {
  const { mean, low, high } = of ?? { mean: null };
  const ends = low === high ? [] : [numberText(low), numberText(high)].filter((end) => end !== '');
  return ends.length < 2 ? numberText(mean) : `${numberText(mean)} [${ends.join(', ')}]`;
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function agoText(milliseconds: number): string {
  const seconds = Math.max(0, (Date.now() - milliseconds) / 1000);
  const [unit, size] = unitOf(seconds);
  return relative.format(-Math.floor(seconds / size), unit);
}

/** Formats a duration in its largest unit, such as `3 hours`. */
export function durationText(seconds: number): string {
  const [unit, size] = unitOf(seconds);
  const count = Math.round(seconds / size);
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}

/** Formats a duration: `0.45 s`, `12 s`, `2 min 5 s`, `1 h 2 min`. */
export const secondsText = (seconds: number): string =>
  Math.round(seconds) < 60 ? `${numberText(Number(seconds.toPrecision(2)))} s` : duration(seconds);

const unitOf = (seconds: number) => units.find(([, each]) => seconds >= each) ?? units[3];
