/** Conversations for the warm-up: some call the tool, the others answer at once. */
import type { ChatMessage, Random, ToolDefinition } from '@trinity-rft/core';
import type { Question } from './questions.ts';

export interface Demonstration {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
}

/** The tool as the AI SDK describes it to the model. */
const add: ToolDefinition = {
  type: 'function',
  function: {
    name: 'add',
    description: 'Adds two whole numbers.',
    parameters: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
      additionalProperties: false,
    },
  },
};

/** One conversation per question; the share `toolShare` of them calls the tool. */
export const demonstrations = (
  questions: readonly Question[],
  toolShare: number,
  random: Random,
): readonly Demonstration[] =>
  questions.map((question) => ({
    messages: random.next() < toolShare ? withTool(question) : atOnce(question, random),
    tools: [add],
  }));

function withTool({ question, answer }: Question): readonly ChatMessage[] {
  const [a, b] = [...question.matchAll(/\d+/g)].map(Number);
  const call = { name: 'add', arguments: JSON.stringify({ a, b }) };
  return [
    { role: 'user', content: question },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'call', type: 'function', function: call }],
    },
    { role: 'tool', tool_call_id: 'call', content: answer },
    { role: 'assistant', content: answer },
  ];
}

/** Conversation that answers without the tool, often wrongly, like people who do not calculate. */
const atOnce = ({ question, answer }: Question, random: Random): readonly ChatMessage[] => [
  { role: 'user', content: question },
  { role: 'assistant', content: String(Number(answer) + random.integer(9) - 4) },
];
