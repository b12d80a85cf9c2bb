/**
 * An agent on the plain `openai` package, with a loop of tool calls. It is independent of training.
 */
import type OpenAI from 'openai';
import { calculator, callCalculator } from './calculator.ts';

export interface Question {
  readonly text: string;
  readonly model: string;
  readonly maxTurns: number;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly text: string;
  readonly turns: number;
  readonly toolCalls: number;
}

export async function answerQuestion(
  client: OpenAI,
  { text, model, maxTurns, signal }: Question,
): Promise<Answer> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: text }];
  let toolCalls = 0;
  for (let turn = 1; ; turn++) {
    const { choices } = await client.chat.completions.create(
      { model, messages, tools: [calculator] },
      { signal },
    );
    const { message } = choices[0]!;
    const calls = message.tool_calls ?? [];
    if (calls.length === 0 || turn === maxTurns)
      return { text: message.content ?? '', turns: turn, toolCalls };
    messages.push(message);
    for (const call of calls) {
      toolCalls++;
      const content =
        call.type === 'function' && call.function.name === 'calculator'
          ? callCalculator(call.function.arguments)
          : 'error';
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
  }
}
