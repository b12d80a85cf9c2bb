/**
 * Creates a `fetch` function that answers requests for chat and text completions by calling a chat
 * function. It is the endpoint of scripted models.
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
  /** Prompt, if the request is for a text completion. */
  readonly prompt?: string;
  readonly n?: number;
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly tools?: readonly ToolDefinition[];
  readonly stream?: boolean;
}

export function serveCompletions(model: string, chat: Chat): typeof globalThis.fetch {
  // Frameworks treat answers with equal ids as the same answer.
  let answered = 0;
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    if (pathname.endsWith('/models'))
      return Response.json({ object: 'list', data: [{ id: model, object: 'model' }] });
    const isChat = pathname.endsWith('/chat/completions');
    if (!isChat && !pathname.endsWith('/completions'))
      return failure(404, `${pathname} is not supported.`);
    try {
      const body = (await request.json()) as CompletionRequest;
      if (body.stream === true) return failure(400, 'Scripted models do not support streaming.');
      const messages: readonly ChatMessage[] = isChat
        ? body.messages
        : [{ role: 'user', content: body.prompt }];
      const responses = await chat(messages, {
        n: body.n,
        temperature: body.temperature,
        maxTokens: body.max_tokens,
        tools: body.tools,
        signal: request.signal,
      });
      return Response.json({
        id: `chatcmpl-scripted-${answered++}`,
        object: 'chat.completion',
        created: 0,
        model,
        choices: responses.map(isChat ? toChoice : toTextChoice),
      });
    } catch (error) {
      return failure((error as { readonly status?: number }).status ?? 500, describeError(error));
    }
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
      reasoning_content: reasoningText,
      tool_calls: toolCalls.length > 0 ? toolCalls : undefined,
    },
  };
}

const toTextChoice = ({ responseText, finishReason }: ChatResponse, index: number): unknown => ({
  index,
  finish_reason: finishReason,
  logprobs: null,
  text: responseText,
});

const failure = (status: number, message: string): Response =>
  Response.json({ error: { message, type: 'scripted_error' } }, { status });
