/**
 * Checks that experiences have the fields that an algorithm requires, before anything is computed.
 */
import { type Experience, BufferError, isExpert, spansOf, taskKey, uid } from '@trinity-rft/core';
import type { Algorithm } from '@trinity-rft/core/internal';

/** Fields that experiences must have. All properties default to false. */
export interface Requirements {
  /**
   * True if experiences must have advantages. The explorer computes advantages, because it has
   * whole groups of rollouts.
   */
  readonly advantages?: boolean;
  /** True if each call or each token must have a reward. */
  readonly rewards?: boolean;
  readonly teacherLogprobs?: boolean;
  /** True if each experience must have the reward of the greedy response to its task. */
  readonly rewardBaselines?: boolean;
  /** True if chosen and rejected responses to the same prompt must alternate. */
  readonly pairs?: boolean;
}

/**
 * Returns the fields of experiences that an algorithm requires. These include the advantages, or
 * the inputs for computing them if the trainer computes them.
 */
export function requirementsOf({
  batchAdvantage,
  needs,
}: Pick<Algorithm, 'batchAdvantage' | 'needs'>): Requirements {
  const here = batchAdvantage !== undefined;
  return {
    advantages: needs.rollouts && !here,
    // If a teacher's log-probabilities are required, rewards are not.
    rewards: here && !needs.teacherLogprobs,
    teacherLogprobs: here && needs.teacherLogprobs,
    rewardBaselines: here && needs.rewardBaselines,
    pairs: needs.pairs,
  };
}

/**
 * Checks that experiences meet the requirements of an algorithm.
 * @throws BufferError naming the first experience that lacks a required field
 */
export function assertComplete(
  experiences: readonly Experience[],
  requirements: Requirements,
): void {
  for (const experience of experiences) {
    if (isExpert(experience)) continue;
    if (requirements.advantages && !experience.advantages)
      throw missing(
        experience,
        'ADVANTAGES_MISSING',
        'advantages; the algorithm needs them',
        'Store experiences that went through the advantage function, or train with sft',
      );
    if (requirements.rewards && !hasRewards(experience))
      throw missing(
        experience,
        'REWARD_MISSING',
        'reward, from which its advantages are to be computed',
        'Give every experience a reward or tokenRewards',
      );
    if (requirements.teacherLogprobs && !experience.teacherLogprobs)
      throw missing(
        experience,
        'TEACHER_MISSING',
        'log-probabilities of a teacher; the algorithm needs them',
        'Use a workflow that asks a teacher, or set teacherLogprobs',
      );
    if (requirements.rewardBaselines && !Number.isFinite(experience.info['reward_baseline']))
      throw missing(
        experience,
        'REWARD_BASELINE_MISSING',
        'info.reward_baseline; the algorithm needs the reward of the greedy answer there',
        'Let the workflow answer once at temperature 0 and write that reward',
      );
  }
  if (requirements.pairs) assertPairs(experiences);
}

/** Returns true if an experience has a reward for each token or for each of its calls. */
const hasRewards = (experience: Experience): boolean =>
  experience.tokenRewards !== undefined ||
  spansOf(experience).every(({ reward }) => reward !== undefined);

/**
 * Checks that each chosen response is followed by the rejected one for the same task and prompt.
 */
function assertPairs(experiences: readonly Experience[]): void {
  for (const [row, chosen] of experiences.entries()) {
    if (row % 2 === 1) continue;
    const rejected = experiences[row + 1];
    if (rejected && !chosen.spans && !rejected.spans && samePrompt(chosen, rejected)) continue;
    const neighbour = rejected ? `experience ${uid(rejected.eid)} after it` : 'nothing after it';
    throw new BufferError(
      `Experience ${uid(chosen.eid)} has ${neighbour}; expected the rejected answer to the same prompt. Give batches of whole pairs, the chosen answer first.`,
      { code: 'PAIR_SPLIT', details: { uid: uid(chosen.eid), row } },
    );
  }
}

function samePrompt(a: Experience, b: Experience): boolean {
  if (taskKey(a.eid) !== taskKey(b.eid) || a.promptLength !== b.promptLength) return false;
  return a.tokens.subarray(0, a.promptLength).every((token, i) => token === b.tokens[i]);
}

function missing(experience: Experience, code: string, what: string, fix: string): BufferError {
  const name = uid(experience.eid);
  return new BufferError(`Experience ${name} has no ${what}. ${fix}.`, {
    code,
    details: { uid: name },
  });
}
