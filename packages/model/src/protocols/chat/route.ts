/** `POST /v1/chat/completions`. */
import type { Generation } from '../../rollout/generate.js';
import type { Answer } from '../shared/answer/answer.js';
import { readBody } from '../shared/request/body.js';
import { done, eventForm, jsonForm } from '../shared/answer/encodings.js';
import { checkChoices } from '../shared/endpoint-policy.js';
import { report } from '../shared/ignored-settings.js';
import { readRequest, type ChatCompletionRequest } from './request.js';
import { toChunks, toCompletion, type ResponseContext } from './response.js';
import type { RouteContext } from '../shared/route.js';
import { serve } from '../shared/serve.js';

interface Completed {
  readonly callIndex: number;
  readonly generation: Generation;
  readonly context: ResponseContext;
}

export async function chatCompletions(request: Request, context: RouteContext): Promise<Answer> {
  const { value, digest } = await readBody(request, context, 'a chat completion request');
  const wanted = readRequest(value);
  checkChoices(context, wanted.n);
  report(wanted, context);
  const form = wanted.stream
    ? eventForm<Completed>((completed) => [
        ...toChunks(completed.generation, completed.context).map((data) => ({ data })),
        done,
      ])
    : jsonForm<Completed>((completed) => toCompletion(completed.generation, completed.context));
  return serve(request, digest, context, form, (signal) => complete(wanted, context, signal));
}

async function complete(
  wanted: ChatCompletionRequest,
  options: RouteContext,
  signal: AbortSignal,
): Promise<Completed> {
  const { generate, modelPath: model, tokenizer, runtime, clientSampling } = options;
  const { messages, tools, parseTools, n, maxTokens, stop, topLogprobs, sampling, form } = wanted;
  const generation = await generate({
    messages,
    tools,
    parseTools,
    ...(form && { form }),
    sampling: {
      n,
      stop,
      topLogprobs: wanted.logprobs ? topLogprobs : 0,
      ...(maxTokens !== undefined && { maxTokens }),
      ...(clientSampling === 'respect' && sampling),
    },
    signal,
  });
  const created = Math.floor(runtime.clock.now() / 1000);
  const { logprobs, includeUsage, returnTokenIds } = wanted;
  const request = { logprobs, topLogprobs, includeUsage, returnTokenIds };
  const context = { id: runtime.newId('chatcmpl'), created, model, tokenizer, request };
  await options.answered(context.id, generation);
  return { callIndex: generation.callIndex, generation, context };
}
