/** Trains the agent: `trinity run --plugin-dir frameworks/mastra`. */
import { finalText, mastraWorkflow } from '@trinity-rft/mastra';
import { calculatorAgent } from './agent/calculator-agent.ts';

export const workflow = mastraWorkflow({
  name: 'mastra',
  run: async ({ question, options }) =>
    finalText(await calculatorAgent.generate(question, { ...options, maxSteps: 3 })),
});
