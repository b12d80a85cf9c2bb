/** The reward: 1 for the right number, else 0. `response` is what the agent answered, `truth` the answer of the task. */
import { defineReward } from '@trinity-rft/workflow';

export const rightNumber = defineReward({
  name: 'right_number',
  score: ({ response, truth }) => (response.trim() === truth ? 1 : 0),
});
