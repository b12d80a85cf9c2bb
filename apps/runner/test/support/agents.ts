/** Plugin modules of the tests, as a user would write them. */

/** Reward that gives an untrained model partial rewards, so that groups differ and weights change. */
const digitsReward = `
import { defineReward } from '@trinity-rft/workflow';
export const share = (text: string): number => [...text].filter((c) => c >= '0' && c <= '9').length / 4;
export const digits = defineReward({ name: 'digits', score: ({ response }) => share(response) });
`;

/**
 * Lets explore steps from `TEST_HOLD_FROM` on wait for ever, so that a run does not end before a
 * test interrupts it, however busy the machine is.
 */
const hold = `
export const untilHeld = async (step: unknown): Promise<void> => {
  if (Number(step) >= Number(process.env['TEST_HOLD_FROM'])) await new Promise(() => undefined);
};
`;

/**
 * Agent with three turns over the OpenAI client and random pauses, so that the order in which
 * rollouts finish varies.
 */
const chattyAgent = `
import { defineWorkflow } from '@trinity-rft/workflow';
import { untilHeld } from './hold.js';
import { share } from './rewards.js';
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * 8));
export const chatty = defineWorkflow({
  name: 'chatty',
  run: async ({ task, model }) => {
    await untilHeld(task.batchId);
    const client = model.openaiClient();
    const messages = [{ role: 'user' as const, content: String(task.rawTask['question']) }];
    let score = 0;
    for (let turn = 0; turn < 3; turn++) {
      await pause();
      const { choices } = await client.chat.completions.create({ model: model.modelPath, messages });
      const text = choices[0].message.content ?? '';
      score += share(text);
      messages.push({ role: 'assistant' as never, content: text }, { role: 'user', content: '+1=' });
    }
    return { reward: score, metrics: { turns: 3 } };
  },
});
`;

/** Agent that answers once. */
const plainAgent = `
import { defineWorkflow } from '@trinity-rft/workflow';
import { untilHeld } from './hold.js';
import { share } from './rewards.js';
export const plain = defineWorkflow({
  name: 'plain',
  run: async ({ task, model }) => {
    await untilHeld(task.batchId);
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    return share(answer.responseText);
  },
});
`;

/** Agent that fails in the fourth explore step, and in half of the tasks of the second and the sixth. */
const moodyAgent = `
import { defineWorkflow } from '@trinity-rft/workflow';
import { share } from './rewards.js';
export const moody = defineWorkflow({
  name: 'moody',
  run: async ({ task, model }) => {
    const step = Number(task.batchId);
    if (step === 4 || (step % 2 === 0 && Number(task.taskId) < 2)) throw new Error('not today');
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    return share(answer.responseText);
  },
});
`;

export const plugins: Readonly<Record<string, string>> = {
  'plugins/rewards.ts': digitsReward,
  'plugins/hold.ts': hold,
  'plugins/chatty.ts': chattyAgent,
  'plugins/plain.ts': plainAgent,
  'plugins/moody.ts': moodyAgent,
};
