/** Handles `POST /v1/chat/completions`. */
import type { Answer } from '../shared/answer/answer.js';
import { type LiveAnswer } from '../shared/answer/live-answer.js';
import { completedBy, completionEncodings, type CompletedCall } from '../shared/completed-call.js';
import { reportIgnoredSettings } from '../shared/ignored-settings.js';
import { readBody, type RequestBody } from '../shared/request/body.js';
import { answerRequest, turnListener, type RouteContext } from '../shared/route.js';
import { readRequest, type ChatCompletionRequest } from './request.js';
import { chunkWriter, toCompletion, type ResponseContext } from './response.js';

const { json, sse } = completionEncodings(toCompletion, chunkWriter);

export async function chatCompletions(
  request: Request,
  context: RouteContext,
  body?: RequestBody,
): Promise<Answer> {
  const { value, digest } = body ?? (await readBody(request, context, 'a chat completion request'));
  const parsed = readRequest(value, context);
  reportIgnoredSettings(parsed, context);
  return answerRequest(request, digest, context, parsed.stream ? sse : json, (signal, live) =>
    complete(parsed, context, signal, live),
  );
}

async function complete(
  parsed: ChatCompletionRequest,
  context: RouteContext,
  signal: AbortSignal,
  live: LiveAnswer<ResponseContext>,
): Promise<CompletedCall<ResponseContext>> {
  const { modelPath: model, tokenizer, runtime, clientSampling } = context;
  const { messages, tools, parseTools, templateArgs, constraint } = parsed;
  const { n, stop, maxTokens, logprobs, topLogprobs, includeUsage, returnTokenIds } = parsed;
  const request = { logprobs, topLogprobs, includeUsage, returnTokenIds };
  const created = Math.floor(runtime.clock.now() / 1000);
  const head = { id: runtime.newId('chatcmpl'), created, model, tokenizer, request };
  live.begin(head);
  const question = {
    messages,
    tools,
    parseTools,
    templateArgs,
    constraint,
    sampling: {
      n,
      stop,
      topLogprobs: logprobs ? topLogprobs : 0,
      maxTokens,
      ...(clientSampling === 'respect' && parsed.sampling),
    },
    onTurn: turnListener(parsed, live, context),
    signal,
  };
  return context.generateAnswer(head.id, question, completedBy(head));
}
