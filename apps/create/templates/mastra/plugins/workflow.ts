/** The agent as a workflow: its calls go to the model that is trained, and its answer is scored. */
import { finalText, mastraWorkflow } from '@trinity-rft/mastra';
import { agent } from '../agent/agent.ts';

export const calculator = mastraWorkflow({
  name: 'calculator',
  run: async ({ question, options }) =>
    finalText(await agent.generate(question, { ...options, maxSteps: 3 })),
});
