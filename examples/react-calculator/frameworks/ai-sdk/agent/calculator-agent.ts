/** An agent of the Vercel AI SDK. It knows nothing of training. */
import { isStepCount, tool, ToolLoopAgent, type ToolSet } from 'ai';
import { z } from 'zod';
import { multiply } from '../../multiply.ts';

export const calculatorAgent = new ToolLoopAgent<never, ToolSet, Record<string, unknown>>({
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
