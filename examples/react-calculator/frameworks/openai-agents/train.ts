/** Trains the agent: `trinity run --plugin-dir frameworks/openai-agents`. */
import { openaiAgentsWorkflow } from '@trinity-rft/openai-agents';
import { calculatorAgent } from './agent/calculator-agent.ts';

export const workflow = openaiAgentsWorkflow({
  name: 'openai-agents',
  run: async ({ question, runner, signal }) =>
    (await runner.run(calculatorAgent, question, { maxTurns: 3, signal })).finalOutput,
});
