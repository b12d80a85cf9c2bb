/** The agent as a workflow: its calls go to the model that is trained, and its answer is scored. */
import { langchainWorkflow, redirected } from '@trinity-rft/langchain';
import { agent } from '../agent/agent.ts';

const trained = redirected(agent);

export const calculator = langchainWorkflow({
  name: 'calculator',
  run: async ({ question, config }) => {
    const input = { messages: [{ role: 'user' as const, content: question }] };
    const { messages } = await trained.invoke(input, { ...config, recursionLimit: 6 });
    return messages.at(-1)?.text;
  },
});
