/**
 * Detects groups whose rollouts all began with the same completion, usually because of a setting.
 */
import type { Experience } from '@trinity-rft/core';
import type { RunOutcome, TaskOutcome } from '../runs/outcome.js';

/**
 * Returns the fraction of groups in which all first completions are equal, token for token. Ignores
 * groups of fewer than two rollouts. Returns undefined if no groups are left. A fraction near 1 is
 * normal if the policy has converged on its responses; otherwise it is a sign of equal seeds,
 * temperature 0, or a cache.
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
