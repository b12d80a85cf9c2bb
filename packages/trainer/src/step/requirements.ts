/** Requirements of an algorithm on the experiences of a batch, checked before anything is computed. */
import { type Experience, BufferError, taskKey, uid, isExpert } from '@trinity-rft/core';
import type { Algorithm } from '@trinity-rft/core/internal';

/** All default to false. */
export interface Requirements {
  /** Computed where groups are whole: in the explorer. */
  readonly advantages?: boolean;
  /** One per call or one per token. */
  readonly rewards?: boolean;
  readonly teacherLogprobs?: boolean;
  /** Chosen and rejected answers of one prompt alternate. */
  readonly pairs?: boolean;
}

/** Where the trainer computes the advantages, it requires what they are computed from instead. */
export function requirementsOf({
  batchAdvantage,
  needs,
}: Pick<Algorithm, 'batchAdvantage' | 'needs'>): Requirements {
  const here = batchAdvantage !== undefined;
  return {
    advantages: needs.rollouts && !here,
    // A teacher's log-probabilities take the place of rewards.
    rewards: here && !needs.teacherLogprobs,
    teacherLogprobs: here && needs.teacherLogprobs,
    pairs: needs.pairs,
  };
}

/** @throws BufferError naming the first experience that lacks something required */
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
    if (requirements.rewards && experience.reward === undefined && !experience.tokenRewards)
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
  }
  if (requirements.pairs) assertPairs(experiences);
}

/** Chosen before rejected, both about the same task and after the same prompt. */
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
