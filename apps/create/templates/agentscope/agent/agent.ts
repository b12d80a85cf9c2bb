/** An AgentScope agent. It knows nothing about training. */
import { Agent } from '@agentscope-ai/agentscope/agent';
import { createMsg, type Msg } from '@agentscope-ai/agentscope/message';
import type { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import { Toolkit } from '@agentscope-ai/agentscope/tool';
import { multiply } from './calculator.ts';

const calculator = {
  name: 'calculator',
  description: 'Multiplies two whole numbers.',
  inputSchema: {
    type: 'object' as const,
    properties: { expression: { type: 'string', description: 'for example 12*34' } },
    required: ['expression'],
  },
  call: ({ expression }: { expression: string }) => multiply(expression),
};

/** Creates an agent for every question, because agents are stateful. */
export function answer(question: string, model: OpenAIChatModel): Promise<Msg> {
  const toolkit = new Toolkit({ tools: [calculator], builtInSkillTool: false });
  const agent = new Agent({ name: 'Calculator', sysPrompt: '', model, toolkit, maxIters: 3 });
  const content = [{ type: 'text' as const, id: 'question', text: question }];
  return agent.reply({ msgs: createMsg({ name: 'user', role: 'user', content }) });
}
