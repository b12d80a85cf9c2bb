/** Asks the model once and scores the answer with the reward function of the task set. */
import { defineWorkflow, scoreResponse } from '@trinity-rft/workflow';
import { closeness } from './reward.ts';

export const estimate = defineWorkflow({
  name: 'estimate',
  run: async ({ task, model, rewardFn = closeness.create({}), signal }) => {
    const question = String(task.rawTask['question']);
    const [response] = await model.chat([{ role: 'user', content: question }], { signal });
    const { reward } = await scoreResponse(rewardFn, task, response?.responseText ?? '');
    return { reward };
  },
});
