/** The reward: 1 for the right sum at the end of the line, 0.2 for an answer that is only a number, else 0. */
import { defineReward } from '@trinity-rft/workflow';

const numberAtEnd = /(?<!\d)(\d+)\.?$/;
const isNumber = /^\d+\.?$/;

export const rightSum = defineReward({
  name: 'right_sum',
  score: ({ response, truth }) => {
    const [line = ''] = response.trim().split('\n');
    const accuracy = numberAtEnd.exec(line.trim())?.[1] === truth ? 1 : 0;
    return { accuracy, format: accuracy === 0 && isNumber.test(response.trim()) ? 0.2 : 0 };
  },
});
