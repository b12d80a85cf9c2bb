/** Group-in-group advantages: compares rollouts, and also steps with the same initial state. */
import {
  choiceArg,
  numberArg,
  stringArg,
  type AdvantageFn,
  type ArgValues,
  type Experience,
  mean,
} from '@trinity-rft/core';
import { sampleStd } from '@trinity-rft/core/internal';
import { groupStats, relativeScores, withScore } from './shared/groups.js';
import { byRun, byTask } from './shared/runs.js';
import { byState, toSteps, unevenSteps, type Step } from './shared/step-rewards.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = {
  omega: numberArg(1, {}, 'Weight of the comparison of steps against that of runs.'),
  gamma: numberArg(1, { min: 0, max: 1 }, 'Discount per step of the rewards that follow a step.'),
  fnorm: choiceArg(
    ['none', 'std'],
    'none',
    'What divides both advantages: nothing, or the standard deviation of their group.',
  ),
  epsilon: numberArg(1e-6, { min: 0 }, 'Added to the divisor.'),
  anchorScope: choiceArg(
    ['task', 'batch'],
    'task',
    'Steps of equal state are compared within their task, or, as in Trinity-RFT, across the whole explore step.',
  ),
  stepRewardKey: stringArg('Key in info of the reward of a step. Default: step_reward.'),
  envStateHashKey: stringArg(
    'Key in info of the state of the environment. Default: env_state_hash.',
  ),
};

type Options = ArgValues<typeof args>;

/**
 * Computes A = A^E + omega A^S for every trained token of a step. The reward r_t of a step is
 * `info.step_reward`, or 0 if the field is missing. If no step of the rollout has a step reward,
 * the last step has the rollout's `reward`. A^E = (v - mean) / (d + epsilon) over the rollouts of a
 * task, with v = sum of r_t, and d is 1 or the sample standard deviation of v. For a single
 * rollout, A^E = v / (1 + epsilon). A^S is computed in the same way from the discounted
 * returns-to-go of steps with equal `info.env_state_hash`. For steps without a hash, or with a
 * unique hash, A^S = 0. Steps are ordered by `eid.step`.
 *
 * Metrics `gigpo/…`: episode_reward_{mean,std} over rollouts, anchor_groups_{total,size_gt1},
 * anchor_group_hit_ratio (share of steps that were compared), mean_abs_A_{E,S};
 * `group_advantages/uneven_runs`; `experience_count`.
 */
export const gigpo = defineAdvantagePart({
  args,
  doc: {
    summary:
      'Two comparisons for runs of several steps: whole runs of a task, and steps that began in the same state of the environment.',
    formula:
      'A = A_E + omega * A_S, A_E = (sum_t r_t - mean) / (d + epsilon), A_S = (sum_u gamma^u r_(t+u) - mean) / (d + epsilon), r_t = info.step_reward, equal states = equal info.env_state_hash',
    source: {
      title: 'Group-in-Group Policy Optimization for LLM Agent Training',
      url: 'https://arxiv.org/abs/2505.10978',
    },
  },
  comparesRuns: true,
  create: (options) => ({ advantage: (experiences) => compare(experiences, options) }),
});

function compare(experiences: readonly Experience[], options: Options): ReturnType<AdvantageFn> {
  if (experiences.length === 0) return { experiences, metrics: {} };
  const read = (run: readonly Experience[]): readonly Step[] => toSteps(run, options);
  const tasks = byTask(experiences).map((members) => byRun(members).map(read));
  const runs = tasks.flat();
  const steps = runs.flat();
  const ofRuns = new Map(
    tasks.flatMap((task) => centred(task, ([first]) => first!.total, options)),
  );
  const episode = new Map(
    runs.flatMap((run) => run.map((step) => [step, ofRuns.get(run)!] as const)),
  );
  const anchors = byState(steps, options.anchorScope);
  const compared = anchors.filter(({ length }) => length > 1);
  const anchored = new Map(
    compared.flatMap((group) => centred(group, ({ toGo }) => toGo, options)),
  );
  const totals = runs.map(([first]) => first!.total);
  const absolute = (values: ReadonlyMap<Step, number>): number =>
    mean(steps.map((step) => Math.abs(values.get(step) ?? 0)));
  return {
    experiences: steps.map((step) =>
      withScore(step.experience, episode.get(step)! + options.omega * (anchored.get(step) ?? 0)),
    ),
    metrics: {
      'gigpo/episode_reward_mean': mean(totals),
      'gigpo/episode_reward_std': sampleStd(totals),
      'gigpo/anchor_groups_total': anchors.length,
      'gigpo/anchor_groups_size_gt1': compared.length,
      'gigpo/anchor_group_hit_ratio': anchored.size / steps.length,
      'gigpo/mean_abs_A_E': absolute(episode),
      'gigpo/mean_abs_A_S': absolute(anchored),
      ...unevenSteps(runs, options),
      experience_count: steps.length,
    },
  };
}

/**
 * Pairs each item with (v - mean) / (d + epsilon), where v is the item's value, and d is 1 or the
 * sample standard deviation of all values. A single item is paired with v / (1 + epsilon).
 */
function centred<Item>(
  items: readonly Item[],
  valueOf: (item: Item) => number,
  { fnorm, epsilon }: Options,
): readonly (readonly [Item, number])[] {
  const values = items.map(valueOf);
  const stats = groupStats(values);
  const divisor = (fnorm === 'std' ? stats.std : 1) + epsilon;
  const scores = relativeScores(values, stats, divisor);
  return items.map((item, i) => [item, scores[i]!]);
}
