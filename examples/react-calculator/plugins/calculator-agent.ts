/** The agent as a workflow: a client that records its calls, and a reward for its answer. */
import { taskPrompt } from '@trinity-rft/core';
import { defineWorkflow, scoreResponse } from '@trinity-rft/workflow';
import { answerQuestion } from './agent/agent.ts';
import { rightNumber } from './reward.ts';

export const calculatorAgent = defineWorkflow({
  name: 'calculator_agent',
  run: async ({ task, model, rewardFn = rightNumber.create({}), signal }) => {
    const { text, turns, toolCalls } = await answerQuestion(model.openaiClient(), {
      text: taskPrompt(task) ?? '',
      model: model.modelPath,
      maxTurns: 3,
      signal,
    });
    const { reward } = await scoreResponse(rewardFn, task, text);
    return { reward, metrics: { turns, tool_calls: toolCalls } };
  },
});
