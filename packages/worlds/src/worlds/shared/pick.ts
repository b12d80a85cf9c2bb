import type { Random } from '@trinity-rft/core';

/** A random item of a list that must not be empty. */
export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.integer(items.length)];
  if (item === undefined) throw new RangeError('There is nothing to pick from.');
  return item;
}
