/** The agent's tool. */
import type OpenAI from 'openai';

export const calculator: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'calculator',
    description: 'Multiplies two whole numbers.',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string', description: 'for example 12*34' } },
      required: ['expression'],
    },
  },
};

/** The result of a call as text, even for invalid arguments. */
export function callCalculator(rawArguments: string): string {
  const { expression } = parse(rawArguments);
  const factors = /^(\d+)\*(\d+)$/.exec(String(expression));
  return factors ? String(Number(factors[1]) * Number(factors[2])) : 'error';
}

function parse(text: string): { readonly expression?: unknown } {
  try {
    return JSON.parse(text) as { readonly expression?: unknown };
  } catch {
    return {};
  }
}
