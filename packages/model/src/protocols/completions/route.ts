/**
 * Handles `POST /v1/completions`, which continues a prompt without applying the chat template. Each
 * call is a separate experience, not a turn of a conversation.
 */
import type { Answer } from '../shared/answer/answer.js';
import { type LiveAnswer } from '../shared/answer/live-answer.js';
import { completedBy, completionEncodings, type CompletedCall } from '../shared/completed-call.js';
import { reportIgnoredSettings } from '../shared/ignored-settings.js';
import { withFieldNames } from '../shared/request/fields.js';
import { readBody, type RequestBody } from '../shared/request/body.js';
import { answerRequest, turnListener, type RouteContext } from '../shared/route.js';
import { readRequest, type TextCompletionRequest } from './request.js';
import { chunkWriter, toCompletion, type ResponseContext } from './response.js';

const { json, sse } = completionEncodings(toCompletion, chunkWriter);

export async function textCompletions(
  request: Request,
  context: RouteContext,
  body?: RequestBody,
): Promise<Answer> {
  const { value, digest } = body ?? (await readBody(request, context, 'a completion request'));
  const parsed = readRequest(value, context.tokenizer.vocabularySize, context);
  reportIgnoredSettings({ ...parsed, constraintFields: [] }, context);
  return answerRequest(request, digest, context, parsed.stream ? sse : json, (signal, live) =>
    complete(parsed, context, signal, live),
  );
}

async function complete(
  parsed: TextCompletionRequest,
  context: RouteContext,
  signal: AbortSignal,
  live: LiveAnswer<ResponseContext>,
): Promise<CompletedCall<ResponseContext>> {
  const { modelPath: model, tokenizer, runtime, clientSampling } = context;
  const { prompt, n, stop, maxTokens, logprobs, includeUsage, returnTokenIds } = parsed;
  const request = { includeUsage, returnTokenIds, logprobs };
  const created = Math.floor(runtime.clock.now() / 1000);
  const head = { id: runtime.newId('cmpl'), created, model, tokenizer, request };
  live.begin(head);
  const question = {
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
    onTurn: turnListener(parsed, live, context),
    signal,
  };
  return context.generateAnswer(head.id, question, completedBy(head)).catch((error: unknown) => {
    throw withFieldNames(error, {
      messages: 'prompt',
      maxTokens: 'max_tokens',
      topP: 'top_p',
      topK: 'top_k',
    });
  });
}
