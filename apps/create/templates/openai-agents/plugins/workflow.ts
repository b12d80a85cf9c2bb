/** The agent as a workflow: its calls go to the model that is trained, and its answer is scored. */
import { openaiAgentsWorkflow } from '@trinity-rft/openai-agents';
import { agent } from '../agent/agent.ts';

export const calculator = openaiAgentsWorkflow({
  name: 'calculator',
  run: async ({ question, runner, signal }) =>
    (await runner.run(agent, question, { maxTurns: 3, signal })).finalOutput,
});
