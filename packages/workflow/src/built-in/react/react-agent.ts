/** The ReAct agent (reason, act with tools, observe, answer) on an OpenAI client. */
import type OpenAI from 'openai';
import { callTool, type Tool } from './tool.js';

export interface ReactAgentOptions {
  readonly client: OpenAI;
  readonly model: string;
  readonly tools: readonly Tool[];
  readonly maxTurns: number;
  readonly systemPrompt?: string;
  /**
   * Tool that the agent calls to give its answer, which is the result of the tool.
   * @default undefined: the agent answers with text
   */
  readonly answerTool?: Tool;
  readonly signal?: AbortSignal;
}

export interface ReactAnswer {
  readonly text: string;
  readonly turns: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** True if the agent used all `maxTurns` calls of the model and called tools in the last one. */
  readonly outOfTurns: boolean;
  /** Number of messages in the conversation, including the agent's answer. */
  readonly memoryLength: number;
}

type Message = OpenAI.ChatCompletionMessageParam;

/**
 * Calls the model, and the tools that it requests, until it answers: by `answerTool` if there is
 * one, or without a tool call. Ends after `maxTurns` calls of the model. Can also be used outside
 * of training.
 */
export async function runReactAgent(
  question: string,
  options: ReactAgentOptions,
): Promise<ReactAnswer> {
  const { maxTurns, systemPrompt, answerTool } = options;
  const tools = answerTool ? [...options.tools, answerTool] : options.tools;
  const messages: Message[] = [
    ...(systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt } as const]),
    { role: 'user', content: question },
  ];
  const counts = { toolCalls: 0, toolErrors: 0 };
  let text = '';
  for (let turn = 1; turn <= maxTurns; turn++) {
    const message = await nextMessage(messages, tools, options);
    messages.push(message);
    text = message.content ?? '';
    const answered = { turns: turn, outOfTurns: false, memoryLength: messages.length };
    // Mistral's service leaves out the type.
    const calls = (message.tool_calls ?? []).filter((call) => call.type !== 'custom');
    if (calls.length === 0) return { text, ...counts, ...answered };
    for (const { id, function: call } of calls) {
      const result = await callTool(tools, call.name, call.arguments);
      counts.toolCalls++;
      if (!result.ok) counts.toolErrors++;
      else if (call.name === answerTool?.definition.function.name)
        return { text: result.text, ...counts, ...answered };
      messages.push({ role: 'tool', tool_call_id: id, content: result.text });
    }
  }
  return { text, ...counts, turns: maxTurns, outOfTurns: true, memoryLength: messages.length };
}

async function nextMessage(
  messages: Message[],
  tools: readonly Tool[],
  { client, model, signal }: ReactAgentOptions,
): Promise<OpenAI.ChatCompletionMessage> {
  const definitions = tools.map(({ definition }) => definition as OpenAI.ChatCompletionTool);
  const { choices } = await client.chat.completions.create(
    { model, messages, tools: definitions.length > 0 ? definitions : undefined },
    { signal },
  );
  return choices[0]!.message;
}
