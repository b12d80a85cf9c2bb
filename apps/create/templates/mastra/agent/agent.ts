/** A Mastra agent. It knows nothing about training. */
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { multiply } from './calculator.ts';

const calculator = createTool({
  id: 'calculator',
  description: 'Multiplies two whole numbers.',
  inputSchema: z.object({ expression: z.string().describe('for example 12*34') }),
  execute: async ({ expression }) => multiply(expression),
});

export const agent = new Agent({
  id: 'calculator',
  name: 'Calculator',
  instructions: '',
  model: {
    id: 'openai/gpt-5-nano',
    url: process.env['OPENAI_BASE_URL'] ?? 'https://api.openai.com/v1',
    apiKey: process.env['OPENAI_API_KEY'],
  },
  tools: { calculator },
});
