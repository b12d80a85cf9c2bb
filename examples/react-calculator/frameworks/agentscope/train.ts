/** Trains the agent: `trinity run --plugin-dir frameworks/agentscope`. */
import { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import { agentscopeWorkflow } from '@trinity-rft/agentscope';
import { answer } from './agent/calculator-agent.ts';

export const workflow = agentscopeWorkflow({
  name: 'agentscope',
  run: ({ question, settings }) => answer(question, new OpenAIChatModel(settings)),
});
