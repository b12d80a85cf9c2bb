/** The model as one rollout sees it: chat and an OpenAI client, with every call recorded. */
import { vocabularyOf } from '@trinity-rft/chat';
import { createAgentEndpoint, type AgentEndpoint } from '@trinity-rft/workflow';
import { createClient, type RolloutClient } from './client.js';
import { createCounters } from './rollout/counters.js';
import { createGenerate } from './rollout/generate.js';
import { toResponse } from './protocols/shared/answer/answer.js';
import { createHandler } from './http/endpoint-handler.js';
import { createHistory, toExperience } from './rollout/history.js';
import type { RecordingModel, RolloutModelOptions } from './recording-model.js';
import { createResponseStore } from './protocols/responses/store.js';
import { scoreTokens } from './rollout/score.js';

/**
 * One per run: it has its own history, ledger and client. Cheap; the client is made when it is
 * asked for. `chat` follows the options of its caller, the client's sampling settings are subject
 * to `clientSampling`.
 */
export function createRolloutModel(options: RolloutModelOptions): RecordingModel {
  const { sampler, modelPath } = options;
  const history = createHistory(options.recordHistory ?? true);
  const counters = createCounters();
  const generate = createGenerate(options, history, counters);
  const answer = createHandler({
    ...options,
    generate,
    deliveries: history,
    counters,
    modelPath,
    tokenizer: options.format.tokenizer,
    clientSampling: options.clientSampling ?? 'override',
    constrainedDecoding: options.constrainedDecoding ?? false,
    runtime: options.runtime,
    notices: options.notices ?? new Set(),
    answered: (id, { recorded }) =>
      options.onAnswer?.({
        id,
        experiences: recorded.map((choice) => toExperience(choice, choice.callIndex)),
      }),
    responses: createResponseStore(),
  });
  const handler = async (request: Request): Promise<Response> => toResponse(await answer(request));
  let made: AgentEndpoint | undefined;
  const endpoint = (): AgentEndpoint =>
    (made ??= createAgentEndpoint({
      fetch: fetchOver(handler),
      ...(options.mounted ?? unmounted),
      model: modelPath,
    }));
  let client: RolloutClient | undefined;
  return {
    modelPath,
    get policyVersion() {
      return sampler.policyVersion;
    },
    chat: async (messages, { tools, signal: given, ...sampling } = {}) => {
      const signal = either(options.signal, given);
      const { choices } = await generate({
        messages,
        sampling,
        parseTools: true,
        ...(tools && { tools }),
        ...(signal && { signal }),
      });
      return choices.map(({ response }) => response);
    },
    logprobs: (tokens, promptLength, score) =>
      scoreTokens(options, { tokens, promptLength }, score),
    vocabulary: vocabularyOf(options.format.tokenizer),
    openaiClient: () => (client ??= createClient(endpoint())),
    endpoint,
    extractExperiencesFromHistory: ({ clear = true } = {}) => history.extract(clear),
    handler,
    answer,
    forks: () => history.forks(),
    metrics: () => counters.metrics(),
  };
}

const either = (a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined =>
  a && b ? AbortSignal.any([a, b]) : (a ?? b);

/** Never resolved: requests go to the endpoint's own `fetch`. */
const unmounted = { baseURL: 'http://rollout.invalid/v1', apiKey: 'rollout' };

/** A handler in place of the global `fetch`. As there, an aborted request has no response. */
function fetchOver(handler: (request: Request) => Promise<Response>): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const response = await handler(request);
    request.signal.throwIfAborted();
    return response;
  };
}
