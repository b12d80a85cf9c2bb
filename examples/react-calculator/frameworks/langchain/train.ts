/** Trains the agent: `trinity run --plugin-dir frameworks/langchain`. */
import { langchainWorkflow, redirected } from '@trinity-rft/langchain';
import { calculatorAgent } from './agent/calculator-agent.ts';

const agent = redirected(calculatorAgent);
/** Three calls of the model and the tools between them. */
const recursionLimit = 6;

export const workflow = langchainWorkflow({
  name: 'langchain',
  run: async ({ question, config }) => {
    const { messages } = await agent.invoke(
      { messages: [{ role: 'user', content: question }] },
      { ...config, recursionLimit },
    );
    return messages.at(-1)?.text;
  },
});
