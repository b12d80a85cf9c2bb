import type { Random } from '@trinity-rft/core';

/** Returns a random item of a list, which must not be empty. */
export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.integer(items.length)];
  if (item === undefined) throw new RangeError('There is nothing to pick from.');
  return item;
}
