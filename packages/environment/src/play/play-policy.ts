/** Plays an episode with a policy that is a function, such as the environment's solver. */
import type { PlayDefaults } from '../seam/define.js';
import type { Action, Solver, StepResult } from '../seam/types.js';
import type { GuardedEpisode } from './guarded-episode.js';
import { combineRewards } from './rewards.js';

interface PolicyStep {
  readonly action: Action;
  readonly result: StepResult;
  readonly stateKey: string | undefined;
}

export interface PolicyEpisode {
  readonly steps: readonly PolicyStep[];
  /**
   * Reward of the episode, computed as in a rollout: the rewards of the steps and the grade,
   * combined by the rule.
   */
  readonly reward: number;
  readonly isDone: boolean;
  /**
   * True if the episode ended, because of the environment or the turn limit, before the policy was
   * done.
   */
  readonly isTruncated: boolean;
}

/** Plays an episode until it ends, the policy stops, or the turn limit is reached. */
export async function playPolicy(
  episode: GuardedEpisode,
  policy: Solver,
  { maxTurns = 20, reward = 'sum' }: Pick<PlayDefaults, 'maxTurns' | 'reward'>,
): Promise<PolicyEpisode> {
  const steps: PolicyStep[] = [];
  let next = policy(episode.observation);
  while (next !== undefined && steps.length < maxTurns) {
    const result = await episode.step(next);
    steps.push({ action: next, result, stateKey: episode.stateKey() });
    next = result.done ? undefined : policy(result.observation);
  }
  const last = steps.at(-1)?.result;
  const given = steps.flatMap(({ result }) => result.reward ?? []);
  const grade = await episode.grade();
  const rewards = grade === undefined ? given : [...given, grade];
  return {
    steps,
    reward: combineRewards(reward, rewards),
    isDone: last?.done ?? false,
    isTruncated: last?.truncated === true || next !== undefined,
  };
}
