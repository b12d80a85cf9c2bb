/** The agent as a workflow: it gets a client whose calls are recorded, and its answer is scored. */
import { defineWorkflow, scoreResponse } from '@trinity-rft/workflow';
import { answer } from '../agent/agent.ts';
import { rightNumber } from './reward.ts';

export const calculator = defineWorkflow({
  name: 'calculator',
  run: async ({ task, model, rewardFn = rightNumber.create({}), signal }) => {
    const text = await answer(model.openaiClient(), String(task.rawTask['question']), { signal });
    const { reward } = await scoreResponse(rewardFn, task, text);
    return { reward };
  },
});
