/** An agent built with the OpenAI Agents SDK. It knows nothing about training. */
import { Agent, tool } from '@openai/agents';
import { z } from 'zod';
import { multiply } from './calculator.ts';

const calculator = tool({
  name: 'calculator',
  description: 'Multiplies two whole numbers.',
  parameters: z.object({ expression: z.string().describe('for example 12*34') }),
  execute: ({ expression }) => multiply(expression),
});

export const agent = new Agent({ name: 'Calculator', model: 'gpt-5-nano', tools: [calculator] });
