/** 1 for the right number, less the farther an answer is from it, 0 for what is no number. */
import { defineReward } from '@trinity-rft/workflow';

export const closeness = defineReward({
  name: 'closeness',
  score: ({ response, truth }) => {
    const [given, right] = [Number(response.trim() || Number.NaN), Number(truth)];
    if (!Number.isFinite(given)) return 0;
    return Math.max(0, 1 - Math.abs(given - right) / Math.max(1, Math.abs(right)));
  },
});
