/** Ways to colour the tokens of a rollout. */
import { words } from '../words/rollouts.js';
import { heatOfChance, heatOfSign } from './heat.js';
import type { ScoredCall, ScoredSegment } from './rollout-view-scores.js';

export type Colour = keyof typeof words.legend;
export const colours = Object.keys(words.colours) as (keyof typeof words.colours)[];

/** Colourings by probability. */
export const chanceColours: ReadonlySet<string> = new Set(['logprob', 'scored']);

/** Colourings by values that a checkpoint computes. */
export const scoredColours: ReadonlySet<string> = new Set(['entropy', 'ratio', 'scored']);

/** Recorded values of a sampled token, and the scores that a checkpoint computed. */
export interface TokenNumbers {
  readonly logprob?: number | null;
  readonly advantage?: number | null;
  readonly tokenReward?: number | null;
  readonly teacherLogprob?: number | null;
  readonly scoredLogprob?: number | null;
  readonly entropy?: number | null;
  readonly ratio?: number | null;
}

export const numbersAt = (segment: ScoredSegment, i: number): TokenNumbers => ({
  logprob: segment.logprobs?.[i],
  advantage: segment.advantages?.[i],
  tokenReward: segment.tokenRewards?.[i],
  teacherLogprob: segment.teacherLogprobs?.[i],
  scoredLogprob: segment.scoredLogprobs?.[i],
  entropy: segment.entropy?.[i],
  ratio: segment.ratios?.[i],
});

/** Colourings for which the calls contain values. */
export function possibleColours(calls: readonly ScoredCall[]): ReadonlySet<string> {
  const segments = calls.flatMap((call) => call.segments).filter(({ sampled }) => sampled);
  const has = (read: (segment: ScoredSegment) => unknown): boolean =>
    segments.some((segment) => read(segment) !== undefined);
  const possible = new Set<string>(['logprob', 'mask']);
  if (has(({ advantages }) => advantages)) possible.add('advantage');
  if (has(({ tokenRewards }) => tokenRewards)) possible.add('tokenReward');
  if (has(({ teacherLogprobs }) => teacherLogprobs)) possible.add('teacher');
  if (has(({ entropy }) => entropy)) for (const colour of scoredColours) possible.add(colour);
  return possible;
}

/**
 * Largest absolute advantage and token reward. Tokens with these values are shown in full colour.
 */
export interface Scale {
  readonly advantage: number;
  readonly tokenReward: number;
}

export function scaleOf(calls: readonly ScoredCall[]): Scale {
  const largest = (read: (segment: ScoredSegment) => ScoredSegment['advantages']): number =>
    calls
      .flatMap((call) => call.segments.flatMap((segment) => read(segment) ?? []))
      .reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 1e-9);
  return {
    advantage: largest(({ advantages }) => advantages),
    tokenReward: largest(({ tokenRewards }) => tokenRewards),
  };
}

const trained = 'hsl(210 80% 50%)';
/** Absolute differences of log-probabilities, in nats, at which tokens have the full colour. */
const farApart = { teacher: 2, ratio: Math.LN2 } as const;

/**
 * Returns the colour of a token; undefined if the token has no value for this colouring, or if the
 * value is neutral.
 */
export function heatOf(numbers: TokenNumbers, colour: Colour, scale: Scale): string | undefined {
  return heats[colour](numbers, scale);
}

type Heat = (numbers: TokenNumbers, scale: Scale) => string | undefined;

const heats: Readonly<Record<Colour, Heat>> = {
  mask: () => trained,
  logprob: ({ logprob }) => (known(logprob) ? heatOfChance(Math.exp(logprob)) : undefined),
  advantage: ({ advantage }, scale) =>
    known(advantage) ? heatOfSign(advantage / scale.advantage) : undefined,
  tokenReward: ({ tokenReward }, scale) =>
    known(tokenReward) ? heatOfSign(tokenReward / scale.tokenReward) : undefined,
  teacher: ({ logprob, teacherLogprob }) =>
    known(logprob) && known(teacherLogprob)
      ? heatOfSign((teacherLogprob - logprob) / farApart.teacher)
      : undefined,
  scored: ({ scoredLogprob }) =>
    known(scoredLogprob) ? heatOfChance(Math.exp(scoredLogprob)) : undefined,
  entropy: ({ entropy }) => (known(entropy) ? heatOfChance(Math.exp(-entropy)) : undefined),
  ratio: ({ ratio }) => (known(ratio) ? heatOfSign(Math.log(ratio) / farApart.ratio) : undefined),
};

const known = (value: number | null | undefined): value is number =>
  value !== undefined && value !== null;
