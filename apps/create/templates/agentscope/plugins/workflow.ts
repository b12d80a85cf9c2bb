/** The agent as a workflow: its calls go to the model that is trained, and its answer is scored. */
import { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import { agentscopeWorkflow } from '@trinity-rft/agentscope';
import { answer } from '../agent/agent.ts';

export const calculator = agentscopeWorkflow({
  name: 'calculator',
  run: ({ question, settings }) => answer(question, new OpenAIChatModel(settings)),
});
