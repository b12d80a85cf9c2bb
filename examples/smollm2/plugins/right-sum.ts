/** The reward: 1 for the right sum at the end of the line, and 0.2 for nothing but a number. */
import { defineReward } from '@trinity-rft/workflow';

const endsWith = /(?<!\d)(\d+)\.?$/;
const isNumber = /^\d+\.?$/;

export const rightSum = defineReward({
  name: 'right_sum',
  score: ({ response, truth }) => {
    const line = response.trim();
    const accuracy = endsWith.exec(line)?.[1] === truth ? 1 : 0;
    return { accuracy, format: accuracy === 0 && isNumber.test(line) ? 0.2 : 0 };
  },
});
