/** The agent as a workflow, and the reward: 1 for the right sum at the end of the answer, else 0. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { aiSdkWorkflow } from '@trinity-rft/ai-sdk';
import { defineReward } from '@trinity-rft/workflow';
import { answer } from '../adding-agent.ts';

export const workflow = aiSdkWorkflow({
  name: 'adding_agent',
  provider: createOpenAICompatible,
  run: ({ question, signal }) => answer(question, signal),
});

export const rightAnswer = defineReward({
  name: 'right_answer',
  score: ({ response, truth }) => ({
    accuracy: /(?<!\d)(\d+)\.?$/.exec(response.trim())?.[1] === truth ? 1 : 0,
  }),
});
