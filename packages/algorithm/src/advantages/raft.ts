/** Rejection sampling: selects the rollouts to imitate. */
import {
  choiceArg,
  numberArg,
  type AdvantageFn,
  type ArgValues,
  type Experience,
} from '@trinity-rft/core';
import { rewardOf, unevenMetrics, withScore, zeroVarianceRatio } from './shared/groups.js';
import { byRun, byTask, inOrderOfSteps } from './shared/runs.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = {
  keep: choiceArg(
    ['best', 'positive', 'all'],
    'best',
    'Which runs of a task stay: the one of the highest reward (of equal ones the first), those of a reward above 0, or all.',
  ),
  minReward: numberArg(undefined, {}, 'Runs of a smaller reward never stay; unset: no limit.'),
};

type Options = ArgValues<typeof args>;

interface Run {
  readonly steps: readonly Experience[];
  /** Reward of the rollout's last step. */
  readonly reward: number;
}

/**
 * Keeps whole rollouts and sets advantage 1 on all of their trained tokens, so that they are
 * imitated. `best` keeps one rollout of each task, even if all rewards are equal, and no rollout if
 * all rewards are below `minReward`. The output is sorted by task, and steps by ascending
 * `eid.step`.
 *
 * Metrics: `experience_count` (kept), `filtered_count`, `raft/kept_run_ratio`,
 * `raft/kept_reward_mean` (if any are kept), `group_advantages/zero_variance_ratio`,
 * `group_advantages/uneven_runs` (rollouts whose calls have different rewards, if there are any).
 */
export const raft = defineAdvantagePart({
  args,
  doc: {
    summary: 'Keeps the best run of each task, to be imitated.',
    formula: 'A_k = 1 for the run k = argmax(R) of a task; other runs are left out',
    source: {
      title: 'RAFT: Reward rAnked FineTuning for Generative Foundation Model Alignment',
      url: 'https://arxiv.org/abs/2304.06767',
    },
  },
  comparesRuns: ({ keep }) => keep === 'best',
  keeps: ({ keep, minReward }) => {
    if (keep === 'best') return 'one';
    return keep === 'all' && minReward === undefined ? 'all' : 'some';
  },
  create: (options) => ({ advantage: (experiences) => select(experiences, options) }),
});

function select(experiences: readonly Experience[], options: Options): ReturnType<AdvantageFn> {
  if (experiences.length === 0) return { experiences, metrics: {} };
  const tasks = byTask(experiences).map(toRuns);
  const runs = tasks.flatMap((task) => kept(task, options));
  const out = runs.flatMap(({ steps }) => steps.map((experience) => withScore(experience, 1)));
  return {
    experiences: out,
    metrics: {
      experience_count: out.length,
      filtered_count: experiences.length - out.length,
      'raft/kept_run_ratio': runs.length / tasks.flat().length,
      ...(runs.length > 0 && {
        'raft/kept_reward_mean': runs.reduce((sum, { reward }) => sum + reward, 0) / runs.length,
      }),
      'group_advantages/zero_variance_ratio': zeroVarianceRatio(
        tasks.map((task) => task.map(({ reward }) => reward)),
      ),
      ...unevenMetrics(tasks.flatMap((task) => task.map(({ steps }) => steps))),
    },
  };
}

function kept(runs: readonly Run[], { keep, minReward = -Infinity }: Options): readonly Run[] {
  const eligible = runs.filter(({ reward }) => reward >= minReward);
  const best = Math.max(...eligible.map(({ reward }) => reward));
  if (keep === 'best') return eligible.filter(({ reward }) => reward === best).slice(0, 1);
  return keep === 'positive' ? eligible.filter(({ reward }) => reward > 0) : eligible;
}

function toRuns(experiences: readonly Experience[]): readonly Run[] {
  return byRun(experiences).map((run) => {
    const steps = inOrderOfSteps(run);
    return { steps, reward: rewardOf(steps.at(-1)!) };
  });
}
