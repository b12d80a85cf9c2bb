import type { Random } from '@trinity-rft/core';

/** Limit above every price, in dollars. */
const noLimit = 1_000_000;

/**
 * Draws the price limit of a goal: the larger of two random multiples of ten among the next four
 * above the price (up to 990). Returns {@link noLimit} if there are fewer than two such multiples.
 */
export function priceLimit(price: number, random: Random): number {
  const next = Array.from({ length: 99 }, (_, index) => 10 * (index + 1)).filter((p) => p > price);
  const [first, second] = random.shuffle(next.slice(0, 4));
  return first === undefined || second === undefined ? noLimit : Math.max(first, second);
}
