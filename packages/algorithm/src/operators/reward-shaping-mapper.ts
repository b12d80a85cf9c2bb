/** Combines the reward with other numeric values of an experience, from `info` or the metrics. */
import { listArg, type Experience, gatherMetrics, RewardError, uid } from '@trinity-rft/core';
import { rewardOf, withChangedReward } from '../advantages/shared/groups.js';
import { definePart, type OperatorPart } from '../parts/part.js';

const operations = {
  ADD: (reward: number, value: number) => reward + value,
  SUB: (reward: number, value: number) => reward - value,
  MUL: (reward: number, value: number) => reward * value,
  DIV: (reward: number, value: number) => (value === 0 ? reward : reward / value),
} as const;

/** One operation on the reward. Fields have the names used in YAML. */
interface RewardShaping {
  /** Key in `info` or in the metrics. */
  readonly stats_key: string;
  /** Operation that combines the reward with the weighted value. @default ADD */
  readonly op_type?: keyof typeof operations;
  /** Factor of the value. @default 1 */
  readonly weight?: number;
}

const expected = '{ stats_key: a text, op_type: ADD, SUB, MUL or DIV, weight: a number }';

/**
 * Applies the operations in order. An operation is skipped if the experience has no value for its
 * `stats_key`, or if the operation would divide by 0. Metrics: `reward_diff/{mean,max,min}`,
 * `missing_stats_count` (operations skipped because the value is missing), `unused_stats_count`
 * (operations skipped for every experience of the step for this reason).
 * @throws RewardError if a value is not a number, or if the reward or the result is not finite
 */
export const rewardShapingMapper: OperatorPart = definePart({
  args: {
    rewardShapingConfigs: listArg(
      expected,
      isShaping,
      'Operations in order. stats_key names a number in info, else in the metrics; without op_type it is ADD, without weight 1.',
    ),
  },
  doc: {
    summary:
      'Adds, subtracts, multiplies or divides the reward by weighted numbers that the workflow left in info or metrics. Each call is changed by itself: where runs are compared, only the change of the last call counts; gigpo adds up those of all calls with info.step_reward.',
    formula: 'R <- R op (weight * stat), in order, op one of + - * /',
  },
  create:
    ({ rewardShapingConfigs: shapings }) =>
    (experiences) => {
      let missing = 0;
      const unused = new Set(experiences.length > 0 ? shapings : []);
      const diffs: { reward_diff: number }[] = [];
      const out = experiences.map((experience) => {
        const changes: ((reward: number) => number)[] = [];
        for (const shaping of shapings) {
          const { stats_key: key, op_type: operation = 'ADD', weight = 1 } = shaping;
          const value = statOf(experience, key);
          if (value === undefined) {
            missing++;
            continue;
          }
          unused.delete(shaping);
          changes.push((reward) => operations[operation](reward, weight * value));
        }
        const change = (reward: number): number =>
          changes.reduce((changed, next) => next(changed), reward);
        const before = rewardOf(experience);
        const reward = change(before);
        if (!Number.isFinite(reward))
          throw shapingError(experience, `made the reward ${before} into ${reward}`);
        diffs.push({ reward_diff: reward - before });
        return withChangedReward(experience, change);
      });
      return {
        experiences: out,
        metrics: {
          ...gatherMetrics(diffs, ''),
          missing_stats_count: missing,
          unused_stats_count: unused.size,
        },
      };
    },
});

function isShaping(item: unknown): item is RewardShaping {
  if (typeof item !== 'object' || item === null) return false;
  const {
    stats_key: key,
    op_type: operation = 'ADD',
    weight = 1,
    ...others
  } = item as Record<string, unknown>;
  const isKnown = typeof operation === 'string' && Object.hasOwn(operations, operation);
  return (
    typeof key === 'string' &&
    isKnown &&
    Number.isFinite(weight) &&
    Object.keys(others).length === 0
  );
}

function statOf(experience: Experience, key: string): number | undefined {
  const value = experience.info[key] ?? experience.metrics[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return value;
  throw shapingError(
    experience,
    `found ${JSON.stringify(value)} under "${key}"; expected a number`,
  );
}

function shapingError(experience: Experience, what: string): RewardError {
  const name = uid(experience.eid);
  return new RewardError(
    `The operator reward_shaping_mapper ${what}, at experience ${name}. Look at its info and at the weights.`,
    {
      code: 'REWARD_SHAPING',
      details: { uid: name },
    },
  );
}
