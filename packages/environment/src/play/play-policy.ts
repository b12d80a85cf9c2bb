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
  /** Reward as in a rollout: the rewards of the steps and the grade, combined by the rule. */
  readonly reward: number;
  readonly isDone: boolean;
}

/** Plays until the episode ends, the policy stops, or the turn limit is reached. */
export async function playPolicy(
  episode: GuardedEpisode,
  policy: Solver,
  { maxTurns = 20, reward = 'sum' }: Pick<PlayDefaults, 'maxTurns' | 'reward'>,
): Promise<PolicyEpisode> {
  const steps: PolicyStep[] = [];
  let seen = episode.observation;
  while (steps.length < maxTurns && steps.at(-1)?.result.done !== true) {
    const action = policy(seen);
    if (action === undefined) break;
    const result = await episode.step(action);
    seen = result.observation;
    steps.push({ action, result, stateKey: episode.stateKey() });
  }
  const last = steps.at(-1)?.result;
  const given = steps.flatMap(({ result }) => result.reward ?? []);
  const hasVerdict = last?.done === true && last.truncated !== true && given.length > 0;
  const grade = hasVerdict ? undefined : await episode.grade();
  const rewards = grade === undefined ? given : [...given, grade];
  return { steps, reward: combineRewards(reward, rewards), isDone: last?.done ?? false };
}
