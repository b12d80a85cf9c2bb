/** An agent of the Vercel AI SDK. It is independent of training. */
import { isStepCount, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';

const agent = new ToolLoopAgent({
  model: 'openai/gpt-5-nano',
  tools: {
    add: tool({
      description: 'Adds two whole numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b,
    }),
  },
  stopWhen: isStepCount(3),
});

export async function answer(question: string, abortSignal: AbortSignal): Promise<string> {
  const { text } = await agent.generate({ prompt: question, abortSignal });
  return text;
}
