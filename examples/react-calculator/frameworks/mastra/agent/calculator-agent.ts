/** A Mastra agent. It is independent of training. */
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { multiply } from '../../multiply.ts';

const calculator = createTool({
  id: 'calculator',
  description: 'Multiplies two whole numbers.',
  inputSchema: z.object({ expression: z.string().describe('for example 12*34') }),
  execute: async ({ expression }) => multiply(expression),
});

export const calculatorAgent = new Agent({
  id: 'calculator',
  name: 'Calculator',
  instructions: '',
  model: 'openai/gpt-5-nano',
  tools: { calculator },
});
