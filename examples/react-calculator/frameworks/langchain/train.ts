/** Trains the agent: `trinity run --plugin-dir frameworks/langchain`. */
import { langchainWorkflow, redirected } from '@trinity-rft/langchain';
import { calculatorAgent } from './agent/calculator-agent.ts';

const agent = redirected(calculatorAgent);

export const workflow = langchainWorkflow({
  name: 'langchain',
  run: async ({ question, config }) => {
    const input = { messages: [{ role: 'user' as const, content: question }] };
    const { messages } = await agent.invoke(input, { ...config, recursionLimit: 6 });
    return messages.at(-1)?.text;
  },
});
