/** Reasons that a reward function gave for an answer. */
import type { Experience } from '@trinity-rft/core';

/** One line for each part of the reward; undefined if the function gave no reasons. */
export function reasonsOf(call: Experience | undefined): readonly string[] | undefined {
  const reasons = call?.info['reasons'];
  if (typeof reasons !== 'object' || reasons === null) return undefined;
  return Object.entries(reasons).map(([name, text]) => `${name}: ${String(text)}`);
}
