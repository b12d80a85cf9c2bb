/** The reward: 1 for the right number, else 0. */
import { defineReward } from '@trinity-rft/workflow';

export const rightNumber = defineReward({
  name: 'right_number',
  score: ({ response, truth }) => (response === truth ? 1 : 0),
});
