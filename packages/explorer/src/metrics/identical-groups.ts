/** Detects groups whose runs all began with the same completion, usually because of a setting. */
import type { Experience } from '@trinity-rft/core';
import type { RunOutcome, TaskOutcome } from '../runs/outcome.js';

/**
 * Share of groups of at least two runs whose first completions are equal, token for token.
 * Undefined if there are no such groups. Near 1 for a policy that has learned its answers;
 * otherwise a sign of equal seeds, temperature 0, or a cache.
 */
export function identicalGroupShare(outcomes: readonly TaskOutcome[]): number | undefined {
  const groups = outcomes
    .map(({ runs }) => firstExperiences(runs))
    .filter((members) => members.length > 1);
  if (groups.length === 0) return undefined;
  const identical = groups.filter(([first, ...others]) =>
    others.every((other) => first && sameResponse(first, other)),
  );
  return identical.length / groups.length;
}

function firstExperiences(runs: readonly RunOutcome[]): readonly Experience[] {
  return runs.flatMap((run) =>
    run.status === 'ok' && run.experiences[0] ? [run.experiences[0]] : [],
  );
}

function sameResponse(a: Experience, b: Experience): boolean {
  const length = a.tokens.length - a.promptLength;
  if (b.tokens.length - b.promptLength !== length) return false;
  for (let i = 0; i < length; i++)
    if (a.tokens[a.promptLength + i] !== b.tokens[b.promptLength + i]) return false;
  return true;
}
