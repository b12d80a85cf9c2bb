/**
 * Groups whose members all said the same: they have no advantages, and usually a setting is to
 * blame.
 */
import type { Experience, Logger } from '@trinity-rft/core';
import type { RunOutcome, TaskOutcome } from '../runs/run-task.js';

/**
 * Share of groups of at least two runs whose first completions are equal, token for token.
 * Undefined without such groups. A policy that has learned its answers comes near to 1; one that
 * has not is sampled with equal seeds, at temperature 0, or behind a cache.
 */
export function identicalGroupShare(outcomes: readonly TaskOutcome[]): number | undefined {
  const groups = outcomes
    .map(({ runs }) => firstExperiences(runs))
    .filter((members) => members.length > 1);
  if (groups.length === 0) return undefined;
  return (
    groups.filter(([first, ...others]) => others.every((other) => sameResponse(first!, other)))
      .length / groups.length
  );
}

/** Says once that no group of a whole step has two answers. */
export function createGroupWatch(logger: Logger): (share: number | undefined) => void {
  let said = false;
  return (share) => {
    if (said || share !== 1) return;
    said = true;
    logger.warn(
      'In every group of this step, all runs began with the same completion: such groups teach nothing. Expected different ones. Look for a temperature near 0, an agent that answers from a cache or keeps memory between runs, or a task that the model has learned already. This is said once; rollout/identical_group_share goes on.',
    );
  };
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
