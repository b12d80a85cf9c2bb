import type { Random } from '@trinity-rft/core';

/** Price limit that every product meets, in dollars. */
const noLimit = 1_000_000;

/**
 * Draws the price limit of a goal in dollars. Takes the next four multiples of ten above the price,
 * up to 990, draws two of them, and returns the larger. Returns {@link noLimit} if there are fewer
 * than two.
 */
export function priceLimit(price: number, random: Random): number {
  const next = Array.from({ length: 99 }, (_, index) => 10 * (index + 1)).filter((p) => p > price);
  const [first, second] = random.shuffle(next.slice(0, 4));
  return first === undefined || second === undefined ? noLimit : Math.max(first, second);
}
