/** The agent outside of training, with any model that serves the OpenAI API. */
import { Agent } from '@agentscope-ai/agentscope/agent';
import { getTextContent, UserMsg } from '@agentscope-ai/agentscope/message';
import { OpenAIChatModel, type OpenAIChatModelOptions } from '@agentscope-ai/agentscope/model';
import { sysPrompt } from './agent.ts';

export async function ask(query: string, model: OpenAIChatModelOptions): Promise<string | null> {
  const agent = new Agent({ name: 'react_agent', sysPrompt, model: new OpenAIChatModel(model) });
  return getTextContent(await agent.reply({ msgs: UserMsg({ name: 'user', content: query }) }));
}
