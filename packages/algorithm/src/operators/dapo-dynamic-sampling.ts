/** Drops groups in which the rollouts are all correct or all incorrect. */
import { numberArg, stringArg, type Experience } from '@trinity-rft/core';
import { rewardOf } from '../advantages/shared/groups.js';
import { byRun, byTask, inOrderOfSteps } from '../advantages/shared/runs.js';
import { definePart, type OperatorPart } from '../parts/part.js';

/**
 * Drops groups in which all rollouts or no rollouts are correct, and groups of one rollout. A
 * rollout is correct if its outcome is above the threshold. The outcome is the metric `metricKey`
 * of the rollout's last step, or the reward if that step lacks the metric. Metrics count
 * experiences: `filtered_count`, `dropped_all_correct`, `dropped_all_wrong`.
 * @throws RewardError for a rollout whose last step has neither the metric nor a finite reward
 */
export const dapoDynamicSampling: OperatorPart = definePart({
  args: {
    metricKey: stringArg(
      'Metric of an experience that says whether it is correct, before any length penalty. Default: accuracy.',
    ),
    correctThreshold: numberArg(0, {}, 'A run is correct above this.'),
  },
  doc: {
    summary: 'Drops groups in which all runs are correct, or none is.',
    formula: 'keep group g where 0 < #correct(g) < |g|',
    source: {
      title: 'DAPO: An Open-Source LLM Reinforcement Learning System at Scale, section 3.2',
      url: 'https://arxiv.org/abs/2503.14476',
    },
  },
  create: ({ metricKey = 'accuracy', correctThreshold }) => {
    const isCorrect = (outcome: Experience): boolean =>
      (outcome.metrics[metricKey] ?? rewardOf(outcome)) > correctThreshold;
    return (experiences) => {
      const kept: Experience[] = [];
      const dropped = { dropped_all_correct: 0, dropped_all_wrong: 0 };
      for (const group of byTask(experiences)) {
        const outcomes = byRun(group).map((run) => inOrderOfSteps(run).at(-1)!);
        if (outcomes.length < 2) continue;
        const correct = outcomes.filter(isCorrect).length;
        if (correct === 0) dropped.dropped_all_wrong += group.length;
        else if (correct === outcomes.length) dropped.dropped_all_correct += group.length;
        else kept.push(...group);
      }
      return {
        experiences: kept,
        metrics: { filtered_count: experiences.length - kept.length, ...dropped },
      };
    };
  },
});
