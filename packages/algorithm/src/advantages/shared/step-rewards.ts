/** The steps of a rollout, each with the discounted sum of its own and all later rewards. */
import {
  type Experience,
  groupBy,
  type Metrics,
  RewardError,
  taskKey,
  uid,
} from '@trinity-rft/core';
import { rewardOf, unevenMetrics } from './groups.js';
import { inOrderOfSteps } from './runs.js';

export interface Step {
  readonly experience: Experience;
  /** Discounted sum of the rewards of this step and all later steps. */
  readonly toGo: number;
  /** Undiscounted sum of the rewards of the rollout to which the step belongs. */
  readonly total: number;
  /**
   * Hash of the environment's state at the beginning of the step, or undefined if the step has
   * none.
   */
  readonly state: string | undefined;
}

export interface StepOptions {
  /** Discount factor per step. */
  readonly gamma: number;
  /** Key of step rewards in `info`. @default 'step_reward' */
  readonly stepRewardKey?: string;
  /** Key of state hashes in `info`. @default 'env_state_hash' */
  readonly envStateHashKey?: string;
}

/**
 * Returns the steps of a rollout by ascending `eid.step`. A step's reward is its
 * `info.step_reward`, or 0 if this is missing. If no step of the rollout has a step reward, the
 * last step has the rollout's reward, and the other steps have 0.
 * @throws RewardError for a reward that is missing or not finite, and for a step reward or state of
 * another type
 */
export function toSteps(run: readonly Experience[], options: StepOptions): readonly Step[] {
  const ordered = inOrderOfSteps(run);
  const { gamma, envStateHashKey = 'env_state_hash' } = options;
  const given = ordered.map((experience) => stepRewardOf(experience, options));
  const rewards = given.every((value) => value === undefined)
    ? ordered.map((experience, i) => (i === ordered.length - 1 ? rewardOf(experience) : 0))
    : given.map((value, i) => rewardOf({ ...ordered[i]!, reward: value ?? 0 }));
  const total = rewards.reduce((sum, reward) => sum + reward, 0);
  const toGo = [...rewards];
  for (let t = toGo.length - 2; t >= 0; t--) toGo[t]! += gamma * toGo[t + 1]!;
  return ordered.map((experience, t) => ({
    experience,
    toGo: toGo[t]!,
    total,
    state: stateIn(experience, envStateHashKey),
  }));
}

/** Returns the metrics of {@link unevenMetrics} for the rollouts without any step reward. */
export function unevenSteps(runs: readonly (readonly Step[])[], options: StepOptions): Metrics {
  const all = runs.map((run) => run.map(({ experience }) => experience));
  return unevenMetrics(
    all.filter((run) => run.every((step) => stepRewardOf(step, options) === undefined)),
  );
}

/**
 * Returns the step reward in the info of an experience, or undefined if there is none.
 * @throws RewardError for a step reward that is not a number
 */
function stepRewardOf(
  experience: Experience,
  { stepRewardKey: key = 'step_reward' }: Pick<StepOptions, 'stepRewardKey'>,
): number | undefined {
  const value = experience.info[key] ?? undefined;
  if (value === undefined || typeof value === 'number') return value;
  throw wrongField(experience, key, 'Write a number, or leave it out');
}

function stateIn(experience: Experience, key: string): string | undefined {
  const value = experience.info[key] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw wrongField(
    experience,
    key,
    'Write a text or a number that is equal in equal states, or leave it out',
  );
}

function wrongField({ eid, info }: Experience, key: string, fix: string): RewardError {
  return new RewardError(
    `Experience ${uid(eid)} has the info.${key} ${JSON.stringify(info[key])}. ${fix}.`,
    { code: 'STEP_FIELD', details: { uid: uid(eid), key } },
  );
}

/**
 * Groups steps that began in the same state, within a task or across the batch. Steps without a
 * state are omitted.
 */
export function byState(
  steps: readonly Step[],
  scope: 'task' | 'batch',
): readonly (readonly Step[])[] {
  const hashed = steps.filter(({ state }) => state !== undefined);
  const keyOf = ({ experience, state }: Step): string =>
    `${scope === 'task' ? taskKey(experience.eid) : ''}|${state}`;
  return [...groupBy(hashed, keyOf).values()];
}
