/** The graph as a workflow: its calls go to the model that is trained, and its answer is scored. */
import { langchainWorkflow } from '@trinity-rft/langchain';
import { answer } from '../agent/agent.ts';

export const calculator = langchainWorkflow({
  name: 'calculator',
  run: ({ question, chatModel, config }) => answer(question, { model: chatModel, config }),
});
