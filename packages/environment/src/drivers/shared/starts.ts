/**
 * Checks that all rollouts of a task start from the same state. Otherwise, their rewards could not
 * be compared.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { EpisodeStart } from '../../seam/types.js';
import { broken } from '../../waiting/within.js';

/** Schema of the argument that turns the check off. */
export const checkStarts = z
  .boolean()
  .default(true)
  .describe('Equal tasks and seeds must give equal first observations.');

/** Maximum number of starts that are remembered. The oldest are forgotten first. */
const remembered = 10_000;

/**
 * Creates the check.
 * @returns a function that throws if an earlier episode with an equal start had a different first
 * observation
 */
export function createStartCheck(
  who: string,
): ({ row, seed }: EpisodeStart, observation: string) => void {
  const seen = new Map<string, string>();
  return ({ row, seed }, observation) => {
    const key = digest(JSON.stringify([row, seed]));
    const value = digest(observation);
    const before = seen.get(key);
    if (before !== undefined && before !== value) throw unequal(who, seed);
    seen.set(key, value);
    const [oldest] = seen.keys();
    if (seen.size > remembered && oldest !== undefined) seen.delete(oldest);
  };
}

const digest = (text: string): string => hash('sha256', text, 'base64');

const unequal = (who: string, seed: number) =>
  broken(
    'ENVIRONMENT_START',
    `${who} began two episodes of one task and seed ${seed} with different observations, so the runs of a group cannot be compared. See which arguments its reset takes: unknown ones are ignored by most servers. If only a detail such as a time differs, set environment_args.check_starts: false.`,
  );
