import type { MetricLine } from '@trinity-rft/monitor';
import { expect, it } from 'vitest';
import { resultsCsv, stepsIn } from './results.js';

const line = (role: MetricLine['role'], step: number, metrics: MetricLine['metrics']): MetricLine =>
  ({ role, step, metrics }) as MetricLine;
const evaluated = (version: number, reward: number) => ({
  'eval/model_version': version,
  'eval/validation/reward/mean@4': reward,
});

it('gives every evaluation to the step that made its weights', () => {
  const lines = [
    line('explorer', 1, { 'rollout/reward/mean': 0.25, ...evaluated(0, 0) }),
    line('trainer', 1, { 'actor/final_loss': 1 }),
    line('explorer', 2, { 'rollout/reward/mean': 0.5, ...evaluated(1, 0.125) }),
    line('trainer', 2, { 'actor/final_loss': 2 }),
    // The final evaluation has the number of the step after the last one.
    line('explorer', 3, evaluated(2, 0.75)),
  ];
  expect(resultsCsv(stepsIn(lines, 'reinforcement'), 'reinforcement')).toBe(
    `step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy,train_mean_reward,valid_mean_reward
1,1,,,,0.25,0.125
2,2,,,,0.5,0.75
`,
  );
});
