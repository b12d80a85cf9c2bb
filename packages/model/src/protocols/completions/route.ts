/**
 * `POST /v1/completions`: text goes on from a prompt as it is; an experience of its own, no turn of
 * a conversation.
 */
import type { Generation } from '../../rollout/generate.js';
import type { Answer } from '../shared/answer/answer.js';
import { readBody } from '../shared/request/body.js';
import { done, eventForm, jsonForm } from '../shared/answer/encodings.js';
import { checkChoices } from '../shared/endpoint-policy.js';
import { report } from '../shared/ignored-settings.js';
import type { RouteContext } from '../shared/route.js';
import { serve } from '../shared/serve.js';
import { readRequest, type TextCompletionRequest } from './request.js';
import { toChunks, toCompletion, type ResponseContext } from './response.js';

interface Completed {
  readonly callIndex: number;
  readonly generation: Generation;
  readonly context: ResponseContext;
}

export async function textCompletions(request: Request, context: RouteContext): Promise<Answer> {
  const { value, digest } = await readBody(request, context, 'a completion request');
  const wanted = readRequest(value, context.tokenizer.vocabularySize);
  checkChoices(context, wanted.n);
  report({ ...wanted, formFields: [] }, context);
  const form = wanted.stream
    ? eventForm<Completed>((completed) => [
        ...toChunks(completed.generation, completed.context).map((data) => ({ data })),
        done,
      ])
    : jsonForm<Completed>((completed) => toCompletion(completed.generation, completed.context));
  return serve(request, digest, context, form, (signal) => complete(wanted, context, signal));
}

async function complete(
  wanted: TextCompletionRequest,
  options: RouteContext,
  signal: AbortSignal,
): Promise<Completed> {
  const { generate, modelPath: model, tokenizer, runtime, clientSampling } = options;
  const { prompt, n, stop, maxTokens, logprobs, sampling } = wanted;
  const generation = await generate({
    plain: prompt,
    messages: [],
    parseTools: false,
    sampling: {
      n,
      stop,
      topLogprobs: logprobs ?? 0,
      ...(maxTokens !== undefined && { maxTokens }),
      ...(clientSampling === 'respect' && sampling),
    },
    signal,
  });
  const created = Math.floor(runtime.clock.now() / 1000);
  const { includeUsage, returnTokenIds } = wanted;
  const request = { includeUsage, returnTokenIds, ...(logprobs !== undefined && { logprobs }) };
  const context = { id: runtime.newId('cmpl'), created, model, tokenizer, request };
  await options.answered(context.id, generation);
  return { callIndex: generation.callIndex, generation, context };
}
