/** Trains the graph: `trinity run --plugin-dir frameworks/langgraph`. */
import { langchainWorkflow } from '@trinity-rft/langchain';
import { calculatorGraph } from './agent/calculator-agent.ts';

export const workflow = langchainWorkflow({
  name: 'langgraph',
  run: async ({ question, chatModel, config }) => {
    const { messages } = await calculatorGraph(chatModel).invoke(
      { messages: [{ role: 'user', content: question }] },
      config,
    );
    return messages.at(-1)?.text;
  },
});
