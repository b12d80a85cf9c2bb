/** An AgentScope agent. It knows nothing of training. */
import { multiply } from '../../multiply.ts';
import { Agent, createMsg, Toolkit, type Msg, type OpenAIChatModel } from '../agentscope.ts';

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

/** An agent remembers what was said, so every question gets one of its own. */
export function answer(question: string, model: OpenAIChatModel): Promise<Msg> {
  const toolkit = new Toolkit({ tools: [calculator], builtInSkillTool: false });
  const agent = new Agent({ name: 'Calculator', sysPrompt: '', model, toolkit, maxIters: 3 });
  const content = [{ type: 'text' as const, id: 'question', text: question }];
  return agent.reply({ msgs: createMsg({ name: 'user', role: 'user', content }) });
}
