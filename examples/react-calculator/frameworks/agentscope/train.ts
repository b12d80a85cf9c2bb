/** Trains the agent: `trinity run --plugin-dir frameworks/agentscope`. */
import { agentscopeWorkflow } from '@trinity-rft/agentscope';
import { answer } from './agent/calculator-agent.ts';
import { OpenAIChatModel } from './agentscope.ts';

export const workflow = agentscopeWorkflow({
  name: 'agentscope',
  run: ({ question, settings }) => answer(question, new OpenAIChatModel(settings)),
});
