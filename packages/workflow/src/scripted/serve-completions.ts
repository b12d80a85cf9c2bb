/**
 * A `fetch` that answers chat completions from a chat function: as much of the API as scripted
 * models need, without streams.
 */
import {
  describeError,
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  type ToolDefinition,
} from '@trinity-rft/core';

type Chat = (
  messages: readonly ChatMessage[],
  options: ChatOptions,
) => Promise<readonly ChatResponse[]>;

interface CompletionRequest {
  readonly messages: readonly ChatMessage[];
  readonly n?: number;
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly tools?: readonly ToolDefinition[];
  readonly stream?: boolean;
}

export function serveCompletions(model: string, chat: Chat): typeof globalThis.fetch {
  // Frameworks take answers with the same id for the same answer.
  let answered = 0;
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    if (pathname.endsWith('/models'))
      return Response.json({ object: 'list', data: [{ id: model, object: 'model' }] });
    if (!pathname.endsWith('/chat/completions'))
      return failure(404, `${pathname} is not scripted.`);
    try {
      const wanted = (await request.json()) as CompletionRequest;
      if (wanted.stream === true) return failure(400, 'Scripted models do not stream.');
      const responses = await chat(wanted.messages, {
        ...toOptions(wanted),
        signal: request.signal,
      });
      return Response.json({
        id: `chatcmpl-scripted-${answered++}`,
        object: 'chat.completion',
        created: 0,
        model,
        choices: responses.map(toChoice),
      });
    } catch (error) {
      return failure((error as { readonly status?: number }).status ?? 500, describeError(error));
    }
  };
}

function toOptions({
  n,
  temperature,
  max_tokens: maxTokens,
  tools,
}: CompletionRequest): ChatOptions {
  return {
    ...(n !== undefined && { n }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(tools && { tools }),
  };
}

function toChoice(
  { responseText, reasoningText, toolCalls, finishReason }: ChatResponse,
  index: number,
): unknown {
  return {
    index,
    finish_reason: finishReason,
    logprobs: null,
    message: {
      role: 'assistant',
      content: responseText === '' && toolCalls.length > 0 ? null : responseText,
      refusal: null,
      ...(reasoningText !== undefined && { reasoning_content: reasoningText }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    },
  };
}

const failure = (status: number, message: string): Response =>
  Response.json({ error: { message, type: 'scripted_error' } }, { status });
