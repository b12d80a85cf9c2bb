/** Converts chat completions and their streamed chunks to simpler objects. */
import type { OpenAI } from 'openai';

export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface ChatAnswer {
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly OpenAI.ChatCompletionMessageFunctionToolCall[];
  readonly finishReason: string;
  readonly usage: Usage;
  /** The response as a message, to append to the messages of the next request. */
  readonly message: OpenAI.ChatCompletionMessage;
}

export type ChatPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'tool-call'; readonly toolCall: OpenAI.ChatCompletionMessageFunctionToolCall }
  | { readonly type: 'finish'; readonly finishReason: string; readonly usage: Usage };

type WithReasoning = { readonly reasoning_content?: string | null };

export function toAnswer({ choices, usage }: OpenAI.ChatCompletion): ChatAnswer {
  const [choice] = choices;
  const message = choice!.message;
  const { reasoning_content: reasoning } = message as WithReasoning;
  return {
    text: message.content ?? '',
    ...(typeof reasoning === 'string' && { reasoning }),
    toolCalls: (message.tool_calls ?? []).filter((call) => call.type === 'function'),
    finishReason: choice!.finish_reason,
    usage: usageOf(usage),
    message,
  };
}

const usageOf = (usage: OpenAI.CompletionUsage | null | undefined): Usage => ({
  promptTokens: usage?.prompt_tokens ?? 0,
  completionTokens: usage?.completion_tokens ?? 0,
});

/**
 * Converts the chunks of a stream to parts of the first choice. Each tool call becomes one part,
 * because the endpoint sends a call in a single chunk.
 */
export async function* toParts(
  chunks: AsyncIterable<OpenAI.ChatCompletionChunk>,
): AsyncGenerator<ChatPart, void> {
  let finishReason = 'stop';
  let usage = usageOf(undefined);
  for await (const chunk of chunks) {
    if (chunk.usage) usage = usageOf(chunk.usage);
    const choice = chunk.choices.find(({ index }) => index === 0);
    if (!choice) continue;
    finishReason = choice.finish_reason ?? finishReason;
    const { content, tool_calls: calls = [] } = choice.delta;
    const { reasoning_content: reasoning } = choice.delta as WithReasoning;
    if (reasoning) yield { type: 'reasoning', text: reasoning };
    if (content) yield { type: 'text', text: content };
    for (const { id = '', function: called } of calls)
      yield {
        type: 'tool-call',
        toolCall: {
          id,
          type: 'function',
          function: { name: called?.name ?? '', arguments: called?.arguments ?? '' },
        },
      };
  }
  yield { type: 'finish', finishReason, usage };
}
