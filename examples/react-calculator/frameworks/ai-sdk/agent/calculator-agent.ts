/** An agent of the Vercel AI SDK. It is independent of training. */
import { isStepCount, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';
import { multiply } from '../../multiply.ts';

const agent = new ToolLoopAgent({
  model: 'openai/gpt-5-nano',
  tools: {
    calculator: tool({
      description: 'Multiplies two whole numbers.',
      inputSchema: z.object({ expression: z.string().describe('for example 12*34') }),
      execute: ({ expression }) => multiply(expression),
    }),
  },
  stopWhen: isStepCount(3),
});

export async function answer(question: string, abortSignal: AbortSignal): Promise<string> {
  const { text } = await agent.generate({ prompt: question, abortSignal });
  return text;
}
