/** Formats numbers for sentences. */
import type { Measured } from './series.js';

export const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

/**
 * Formats a number with four significant digits. Only very large and very small numbers have an
 * exponent.
 */
export const short = (value: number): string => String(Number(value.toPrecision(4)));

/** Formats a number with three decimals, so that columns align. */
export const fixed = (value: number): string => value.toFixed(3);

/**
 * Formats a difference with a sign and three decimals. A difference that rounds to zero is
 * `+0.000`.
 */
export const signed = (value: number): string =>
  `${Number(fixed(value)) < 0 ? '\u2212' : '+'}${fixed(Math.abs(value))}`;

const stepNames = { explorer: 'explore steps', trainer: 'train steps' } as const;

/** Returns a phrase such as `explore steps 20 to 40`. */
export const stepsOf = ({ role, from, to }: Measured): string =>
  `${stepNames[role]} ${from} to ${to}`;
