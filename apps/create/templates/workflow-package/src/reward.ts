/** The reward: 1 for the right number, less for answers farther from it, 0 if the answer is not a number. */
import { defineReward } from '@trinity-rft/workflow';

export const closeness = defineReward({
  name: 'closeness',
  score: ({ response, truth }) => {
    const [given, right] = [Number(response.trim() || Number.NaN), Number(truth)];
    if (!Number.isFinite(given)) return 0;
    return Math.max(0, 1 - Math.abs(given - right) / Math.max(1, Math.abs(right)));
  },
});
