/** `POST /v1/chat/completions`. */
import type { Answer } from '../shared/answer/answer.js';
import { completionEncodings, type CompletedCall } from '../shared/completed-call.js';
import { checkChoices } from '../shared/endpoint-policy.js';
import { reportIgnoredSettings } from '../shared/ignored-settings.js';
import { readBody } from '../shared/request/body.js';
import { answerRequest, type RouteContext } from '../shared/route.js';
import { readRequest, type ChatCompletionRequest } from './request.js';
import { toChunks, toCompletion, type ResponseContext } from './response.js';

const { json, sse } = completionEncodings(toCompletion, toChunks);

export async function chatCompletions(request: Request, context: RouteContext): Promise<Answer> {
  const { value, digest } = await readBody(request, context, 'a chat completion request');
  const parsed = readRequest(value);
  checkChoices(context, parsed.n);
  reportIgnoredSettings(parsed, context);
  return answerRequest(request, digest, context, parsed.stream ? sse : json, (signal) =>
    complete(parsed, context, signal),
  );
}

async function complete(
  parsed: ChatCompletionRequest,
  context: RouteContext,
  signal: AbortSignal,
): Promise<CompletedCall<ResponseContext>> {
  const { modelPath: model, tokenizer, runtime, clientSampling } = context;
  const { messages, tools, parseTools, constraint } = parsed;
  const { n, stop, maxTokens, logprobs, topLogprobs, includeUsage, returnTokenIds } = parsed;
  const generation = await context.generate({
    messages,
    tools,
    parseTools,
    constraint,
    sampling: {
      n,
      stop,
      topLogprobs: logprobs ? topLogprobs : 0,
      maxTokens,
      ...(clientSampling === 'respect' && parsed.sampling),
    },
    signal,
  });
  const created = Math.floor(runtime.clock.now() / 1000);
  const id = runtime.newId('chatcmpl');
  await context.onAnswer(id, generation);
  const request = { logprobs, topLogprobs, includeUsage, returnTokenIds };
  return {
    callIndex: generation.callIndex,
    generation,
    context: { id, created, model, tokenizer, request },
  };
}
