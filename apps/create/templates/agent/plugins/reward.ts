/**
 * The reward: 1 for the right number, else 0. `response` is the agent's answer, and `truth` is the
 * task's reference answer.
 */
import { defineReward } from '@trinity-rft/workflow';

export const rightNumber = defineReward({
  name: 'right_number',
  score: ({ response, truth }) => (response.trim() === truth ? 1 : 0),
});
