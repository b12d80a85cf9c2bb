/**
 * Two options of `grpo`: a penalty on the rewards of the most likely rollouts of a group, and
 * duplication of groups to replace dropped ones.
 */
import {
  booleanArg,
  ConfigError,
  type Experience,
  createRandom,
  deriveSeed,
  numberArg,
  onlyWith,
  uid,
  withFields,
} from '@trinity-rft/core';
import { groupStats, rewardOfRun } from './groups.js';

/** Arguments of the rank penalty. */
export const rankArgs = {
  rankPenalty: numberArg(
    undefined,
    { min: 0, max: 1 },
    'The run of rank q of n, in ascending order of mean log-probability, keeps the share 1 - rank_penalty * q / n of its reward.',
  ),
  rankPenaltyRawNumerator: onlyWith(
    'rank_penalty above 0',
    ({ rankPenalty = 0 }) => rankPenalty !== 0,
    booleanArg(
      false,
      'As Trinity-RFT 0.5.2: penalised rewards in mean and deviation, raw ones in the numerator, ranks over all response tokens.',
    ),
  ),
};

/** The calls of a rollout, by ascending step. */
type Run = readonly Experience[];

/**
 * Returns R'_i = R_i (1 - penalty * q_i / n), where q_i is the rank of rollout i of n, from 0.
 * Rollouts are ranked by ascending mean log-probability over their trained tokens, or over all of
 * their response tokens with `ignoreMask`. Ties keep the order of the list. A single rollout keeps
 * its reward.
 * @see He et al., Rewarding the Unlikely, arXiv:2506.02355, section 4
 */
function penaliseRanks(
  rewards: readonly number[],
  runs: readonly Run[],
  penalty: number,
  ignoreMask = false,
): readonly number[] {
  const logprobs = runs.map((run) => meanLogprob(run, ignoreMask));
  const order = rewards.map((_, i) => i).toSorted((a, b) => logprobs[a]! - logprobs[b]!);
  const out = [...rewards];
  for (const [rank, i] of order.entries())
    out[i] = rewards[i]! * (1 - (penalty * rank) / rewards.length);
  return out;
}

/** Returns the mean log-probability over the tokens of all calls of a rollout. */
function meanLogprob(run: Run, ignoreMask: boolean): number {
  let [sum, count] = [0, 0];
  for (const { actionMask, logprobs } of run) {
    for (let t = 0; t < logprobs.length; t++) {
      if (!ignoreMask && actionMask[t] === 0) continue;
      sum += logprobs[t]!;
      count++;
    }
  }
  return sum / Math.max(1, count);
}

/**
 * Returns copies of `count` random groups, drawn with replacement. The seed and the id of the first
 * experience determine which groups are drawn. The copies have new ids.
 */
export function duplicateGroups(
  groups: readonly (readonly Experience[])[],
  count: number,
  seed: number,
): readonly Experience[] {
  if (groups.length === 0) return [];
  const random = createRandom(deriveSeed(seed, 'duplicate_experiences', uid(groups[0]![0]!.eid)));
  return Array.from({ length: count }, (_, copy) =>
    groups[random.integer(groups.length)]!.map((experience) =>
      withFields(experience, {
        eid: { ...experience.eid, suffix: `${experience.eid.suffix}+${copy + 1}` },
      }),
    ),
  ).flat();
}

/**
 * Checks that dropped groups can be replaced with copies of other groups.
 * @throws ConfigError if `duplicateExperiences` is set without `stdThreshold`, because no groups
 * are dropped without a threshold
 */
export function checkDuplicates(options: {
  readonly duplicateExperiences: boolean;
  readonly stdThreshold: number | undefined;
}): void {
  if (!options.duplicateExperiences || options.stdThreshold !== undefined) return;
  throw new ConfigError(
    'The argument "duplicateExperiences" of advantage function "grpo" replaces groups that "stdThreshold" drops. Set "stdThreshold" too.',
    { code: 'ARGUMENT_INVALID' },
  );
}

interface RankPenaltyOptions {
  readonly rankPenalty?: number;
  readonly rankPenaltyRawNumerator: boolean;
}

/**
 * Computes the reward statistics of the rollouts of one task, after the rank penalty. `rewards` are
 * the penalised rewards, or the raw rewards with `rankPenaltyRawNumerator`.
 */
export function toRankedGroup(runs: readonly Run[], options: RankPenaltyOptions) {
  const { rankPenalty = 0, rankPenaltyRawNumerator: isRaw } = options;
  const raw = runs.map(rewardOfRun);
  const penalised = rankPenalty === 0 ? raw : penaliseRanks(raw, runs, rankPenalty, isRaw);
  return { runs, raw, rewards: isRaw ? raw : penalised, stats: groupStats(penalised) };
}
