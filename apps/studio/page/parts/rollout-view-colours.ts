/** What tokens are coloured by, and how. */
import type { RecordedCall, Segment } from '@trinity-rft/studio-api/interface';
import { texts } from '../texts.js';

const { rollouts: words } = texts;

export type Colour = keyof typeof words.legend;
export const colours = Object.keys(words.colours) as (keyof typeof words.colours)[];

/** One token that the model wrote, and what was recorded with it. */
export interface TokenNumbers {
  readonly logprob?: number | null;
  readonly advantage?: number | null;
  readonly tokenReward?: number | null;
  readonly teacherLogprob?: number | null;
}

export const numbersAt = (segment: Segment, i: number): TokenNumbers => ({
  logprob: segment.logprobs?.[i],
  advantage: segment.advantages?.[i],
  tokenReward: segment.tokenRewards?.[i],
  teacherLogprob: segment.teacherLogprobs?.[i],
});

/** What there are numbers for. */
export function possibleColours(calls: readonly RecordedCall[]): ReadonlySet<string> {
  const segments = calls.flatMap((call) => call.segments).filter(({ sampled }) => sampled);
  const has = (read: (segment: Segment) => unknown): boolean =>
    segments.some((segment) => read(segment) !== undefined);
  const possible = new Set<string>(['logprob', 'mask']);
  if (has(({ advantages }) => advantages)) possible.add('advantage');
  if (has(({ tokenRewards }) => tokenRewards)) possible.add('tokenReward');
  if (has(({ teacherLogprobs }) => teacherLogprobs)) possible.add('teacher');
  return possible;
}

/** Largest absolute value of advantages and of rewards, for their scales. */
export interface Scale {
  readonly advantage: number;
  readonly tokenReward: number;
}

export function scaleOf(calls: readonly RecordedCall[]): Scale {
  const largest = (read: (segment: Segment) => Segment['advantages']): number =>
    calls
      .flatMap((call) => call.segments.flatMap((segment) => read(segment) ?? []))
      .reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 1e-9);
  return {
    advantage: largest(({ advantages }) => advantages),
    tokenReward: largest(({ tokenRewards }) => tokenRewards),
  };
}

const trained = 'hsl(210 80% 50%)';
/** Nats at which a difference to the teacher has its full colour. */
const farApart = 2;

/** Undefined: without a colour. */
export function heatOf(numbers: TokenNumbers, colour: Colour, scale: Scale): string | undefined {
  const { logprob, advantage, tokenReward, teacherLogprob } = numbers;
  if (colour === 'mask') return trained;
  if (colour === 'logprob') return known(logprob) ? hue(Math.exp(logprob)) : undefined;
  if (colour === 'advantage')
    return known(advantage) ? signed(advantage / scale.advantage) : undefined;
  if (colour === 'tokenReward')
    return known(tokenReward) ? signed(tokenReward / scale.tokenReward) : undefined;
  return known(logprob) && known(teacherLogprob)
    ? signed((teacherLogprob - logprob) / farApart)
    : undefined;
}

const known = (value: number | null | undefined): value is number =>
  value !== undefined && value !== null;

/** From -1 (red) to 1 (green); 0 is neither. */
const signed = (share: number): string | undefined =>
  Math.abs(share) < 1e-6 ? undefined : hue((Math.min(1, Math.max(-1, share)) + 1) / 2);

/** From 0 (red) to 1 (green). */
const hue = (share: number): string => `hsl(${Math.round(120 * share)} 80% 45%)`;
