import type { Random } from '@trinity-rft/core';

/** One of several, which must not be none. */
export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.integer(items.length)];
  if (item === undefined) throw new RangeError('There is nothing to pick from.');
  return item;
}
