/** An agent built on the plain `openai` client. It knows nothing about training. */
import type { OpenAI } from 'openai';
import { multiply } from './calculator.ts';

const calculator: OpenAI.ChatCompletionFunctionTool = {
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

const maxTurns = 3;

export async function answer(
  client: OpenAI,
  question: string,
  { model = 'gpt-5-nano', signal }: { model?: string; signal?: AbortSignal } = {},
): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  for (let turn = 1; ; turn++) {
    const request = { model, messages, tools: [calculator] };
    const { choices } = await client.chat.completions.create(request, { signal });
    const message = choices[0]?.message;
    const calls = message?.tool_calls ?? [];
    if (message === undefined || calls.length === 0 || turn === maxTurns)
      return message?.content ?? '';
    messages.push(message);
    for (const call of calls)
      messages.push({ role: 'tool', tool_call_id: call.id, content: callTool(call) });
  }
}

/** Returns errors to the model, which may write invalid calls while it is still learning. */
function callTool(call: OpenAI.ChatCompletionMessageToolCall): string {
  if (call.type !== 'function' || call.function.name !== 'calculator') return 'error';
  try {
    const { expression } = JSON.parse(call.function.arguments) as { expression?: unknown };
    return multiply(String(expression));
  } catch {
    return 'error';
  }
}
