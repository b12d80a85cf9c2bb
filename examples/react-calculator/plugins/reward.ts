/** What the agent is paid for: the right number and nothing else. */
import { defineReward } from '@trinity-rft/workflow';

export const rightNumber = defineReward({
  name: 'right_number',
  score: ({ response, truth }) => (response === truth ? 1 : 0),
});
