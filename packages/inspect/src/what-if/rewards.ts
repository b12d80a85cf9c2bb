/** Rescores recorded rollouts with another reward function. */
import {
  runKey,
  type Experience,
  type RawTask,
  groupBy,
  RewardError,
  uid,
  withFields,
} from '@trinity-rft/core';
import { copyOf, returnedBy } from '@trinity-rft/core/support';
import type { RecordedReward } from './variant.js';

/** Fields of the task that an experience belongs to. */
export interface RecordedTask {
  readonly truth?: string | undefined;
  readonly rawTask?: RawTask | undefined;
}

export type TaskOf = (experience: Experience) => RecordedTask | undefined;

/**
 * Scores the last answer of each rollout, and gives this reward to every call of the rollout.
 * @throws RewardError for an answer that was recorded without its text, and for unusable rewards
 */
export async function withRewards(
  experiences: readonly Experience[],
  reward: RecordedReward,
  taskOf: TaskOf,
): Promise<readonly Experience[]> {
  const rewards = new Map<string, number>();
  for (const [run, calls] of groupBy(experiences, ({ eid }) => runKey(eid))) {
    const last = calls.reduce((a, b) => (b.eid.step > a.eid.step ? b : a));
    rewards.set(run, await scoreOf(last, reward, taskOf));
  }
  return experiences.map((experience) =>
    rewarded(experience, rewards.get(runKey(experience.eid)) ?? 0),
  );
}

async function scoreOf(
  experience: Experience,
  reward: RecordedReward,
  taskOf: TaskOf,
): Promise<number> {
  const { eid, promptText, responseText, actionMask } = experience;
  if (responseText === undefined)
    throw new RewardError(
      `Experience ${uid(eid)} was recorded without the text of its answer, so it cannot be scored again.`,
      { code: 'ANSWER_UNKNOWN', details: { uid: uid(eid) } },
    );
  const { truth, rawTask = {} } = taskOf(experience) ?? {};
  const scored = await reward({
    response: responseText,
    prompt: promptText,
    truth,
    rawTask: copyOf(rawTask),
    responseTokens: actionMask.reduce((sum, bit) => sum + bit, 0),
    experience,
  });
  const place = ` for experience ${uid(eid)}`;
  const refuse = (message: string): RewardError =>
    new RewardError(message, { code: 'REWARD_UNUSABLE', details: { uid: uid(eid) } });
  return returnedBy('The reward function', refuse, place).rewardParts(scored).reward;
}

function rewarded(experience: Experience, reward: number): Experience {
  const { tokenRewards: _, spans, ...rest } = experience;
  const own = { ...rest, reward };
  return spans ? { ...own, spans: spans.map((span) => ({ ...span, reward })) } : own;
}

/** Experience without the advantages and returns that an algorithm computed. */
export const withoutAdvantages = (experience: Experience): Experience =>
  withFields(experience, { advantages: undefined, returns: undefined });
