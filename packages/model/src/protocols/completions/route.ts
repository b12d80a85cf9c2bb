/**
 * `POST /v1/completions`: continues a prompt as it is. A separate experience, not a turn of a
 * conversation.
 */
import type { Answer } from '../shared/answer/answer.js';
import { completionEncodings, type CompletedCall } from '../shared/completed-call.js';
import { checkChoices } from '../shared/endpoint-policy.js';
import { reportIgnoredSettings } from '../shared/ignored-settings.js';
import { readBody } from '../shared/request/body.js';
import { answerRequest, type RouteContext } from '../shared/route.js';
import { readRequest, type TextCompletionRequest } from './request.js';
import { toChunks, toCompletion, type ResponseContext } from './response.js';

const { json, sse } = completionEncodings(toCompletion, toChunks);

export async function textCompletions(request: Request, context: RouteContext): Promise<Answer> {
  const { value, digest } = await readBody(request, context, 'a completion request');
  const parsed = readRequest(value, context.tokenizer.vocabularySize);
  checkChoices(context, parsed.n);
  reportIgnoredSettings({ ...parsed, constraintFields: [] }, context);
  return answerRequest(request, digest, context, parsed.stream ? sse : json, (signal) =>
    complete(parsed, context, signal),
  );
}

async function complete(
  parsed: TextCompletionRequest,
  context: RouteContext,
  signal: AbortSignal,
): Promise<CompletedCall<ResponseContext>> {
  const { modelPath: model, tokenizer, runtime, clientSampling } = context;
  const { prompt, n, stop, maxTokens, logprobs, includeUsage, returnTokenIds } = parsed;
  const generation = await context.generate({
    plain: prompt,
    messages: [],
    parseTools: false,
    sampling: {
      n,
      stop,
      topLogprobs: logprobs ?? 0,
      maxTokens,
      ...(clientSampling === 'respect' && parsed.sampling),
    },
    signal,
  });
  const created = Math.floor(runtime.clock.now() / 1000);
  const id = runtime.newId('cmpl');
  await context.onAnswer(id, generation);
  const request = { includeUsage, returnTokenIds, logprobs };
  return {
    callIndex: generation.callIndex,
    generation,
    context: { id, created, model, tokenizer, request },
  };
}
