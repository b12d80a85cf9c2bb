/** Reports the pass rate of each row to task selectors. */
import { type Experience, type Metrics, mean } from '@trinity-rft/core';
import type { RowFeedback } from '@trinity-rft/core/store';
import { rewardOfRun } from '../advantages/shared/groups.js';
import { byTask, compareArg, membersOf, type Compared } from '../advantages/shared/runs.js';
import { definePart, type OperatorPart } from '../parts/part.js';

/**
 * Computes the pass rate of each row, which is the mean reward over the rollouts of its task.
 * Metrics over rows, as in Trinity-RFT:
 * `selection/{valid_ratio,strict_valid_ratio,<1_ratio,>0_ratio,<15_16_ratio,>1_16_ratio}`.
 * @throws RewardError for an experience without a finite reward
 */
export const passRateCalculator: OperatorPart = definePart({
  args: { compare: compareArg },
  doc: {
    summary:
      'Changes no experience: passes the mean reward of each task on to the data selector of its task set.',
    formula: 'p_task = mean(R_task)',
  },
  create:
    ({ compare }) =>
    (experiences) => {
      const feedback = byTask(experiences).flatMap((task) => feedbackOf(task, compare));
      return { experiences, metrics: ratios(feedback.map(({ value }) => value)), feedback };
    },
});

/**
 * Returns the feedback about the task set row from which a task was made, or an empty list if
 * `info` does not name the task set and the row.
 */
function feedbackOf(task: readonly Experience[], compare: Compared): readonly RowFeedback[] {
  const { taskset, row } = task[0]?.info ?? {};
  if (typeof taskset !== 'string' || typeof row !== 'number') return [];
  return [{ taskset, row, value: mean(membersOf(task, compare).map(rewardOfRun)) }];
}

const sixteenth = 1 / 16 + 1e-3;

function ratios(passRates: readonly number[]): Metrics {
  if (passRates.length === 0) return {};
  const share = (holds: (rate: number) => boolean): number =>
    passRates.filter(holds).length / passRates.length;
  const low = (rate: number): boolean => rate < 1 - sixteenth;
  const high = (rate: number): boolean => rate > sixteenth;
  return {
    'selection/valid_ratio': share((rate) => rate > 0 && rate < 1),
    'selection/strict_valid_ratio': share((rate) => low(rate) && high(rate)),
    'selection/<1_ratio': share((rate) => rate < 1),
    'selection/>0_ratio': share((rate) => rate > 0),
    'selection/<15_16_ratio': share(low),
    'selection/>1_16_ratio': share(high),
  };
}
