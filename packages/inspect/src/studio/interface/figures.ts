/** Numbers of a story as text. */
import type { Story } from './types.js';

export { fixed, signed } from '../../diagnosis/evidence/format.js';

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Formats a duration, such as `42 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a large number, such as `248 k`, `1.25 M`. */
function large(count: number): string {
  if (count >= 1e9) return `${Number((count / 1e9).toPrecision(3))} B`;
  if (count >= 1e6) return `${Number((count / 1e6).toPrecision(3))} M`;
  if (count >= 1e4) return `${Number((count / 1e3).toPrecision(3))} k`;
  return String(Math.round(count));
}

/** Returns the labels and values of the costs that are known. */
export function costFigures({
  seconds,
  processorSeconds,
  sampledTokens,
  trainedTokens,
  dollars,
}: Story['cost']): readonly (readonly [label: string, value: string])[] {
  const figures = [
    ['wall time', seconds === undefined ? undefined : duration(seconds)],
    [
      'processor time of the trainer',
      processorSeconds === undefined ? undefined : duration(processorSeconds),
    ],
    ['tokens sampled', sampledTokens === undefined ? undefined : large(sampledTokens)],
    ['tokens trained', trainedTokens === undefined ? undefined : large(trainedTokens)],
    [
      'price of sampling and training',
      dollars === undefined ? undefined : `$${dollars.toFixed(2)}`,
    ],
  ] as const;
  return figures.flatMap(([label, value]) =>
    value === undefined ? [] : [[label, value] as const],
  );
}
