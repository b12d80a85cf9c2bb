/** The agent before it is trained, on whatever model serves the OpenAI API. */
import {
  Agent,
  getTextContent,
  OpenAIChatModel,
  UserMsg,
  type OpenAIChatModelOptions,
} from './agentscope.ts';
import { sysPrompt } from './agent.ts';

export async function ask(query: string, model: OpenAIChatModelOptions): Promise<string | null> {
  const agent = new Agent({ name: 'react_agent', sysPrompt, model: new OpenAIChatModel(model) });
  return getTextContent(await agent.reply({ msgs: UserMsg({ name: 'user', content: query }) }));
}
