/** A LangChain agent. It knows nothing about training. */
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { multiply } from './calculator.ts';

const calculator = tool(({ expression }) => multiply(expression), {
  name: 'calculator',
  description: 'Multiplies two whole numbers.',
  schema: z.object({ expression: z.string().describe('for example 12*34') }),
});

export const agent = createAgent({
  model: new ChatOpenAI({ model: 'gpt-5-nano', apiKey: process.env['OPENAI_API_KEY'] ?? 'none' }),
  tools: [calculator],
});
