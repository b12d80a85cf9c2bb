/** An agent built with the Vercel AI SDK. It knows nothing about training. */
import { stepCountIs, tool, ToolLoopAgent, type LanguageModel } from 'ai';
import { z } from 'zod';
import { multiply } from './calculator.ts';

const calculator = tool({
  description: 'Multiplies two whole numbers.',
  inputSchema: z.object({ expression: z.string().describe('for example 12*34') }),
  execute: ({ expression }) => multiply(expression),
});

export async function answer(
  question: string,
  { model = 'openai/gpt-5-nano', signal }: { model?: LanguageModel; signal?: AbortSignal } = {},
): Promise<string> {
  const agent = new ToolLoopAgent({ model, tools: { calculator }, stopWhen: stepCountIs(3) });
  const { text } = await agent.generate({ prompt: question, abortSignal: signal });
  return text;
}
