import { vocabularyOf } from '@trinity-rft/chat/internal';
import type { Sampler } from '@trinity-rft/core/engine';
import { copyOf } from '@trinity-rft/core/support';
import {
  activeContext,
  inModelSpan,
  inRequestContext,
  type ModelAnswer,
  type TraceContext,
} from '@trinity-rft/monitor/internal';
import { type AgentEndpoint } from '@trinity-rft/workflow';
import { createAgentEndpoint, createOpenAIClient } from '@trinity-rft/workflow/internal';
import { createEndpointHandler } from './http/endpoint-handler.js';
import { createResponseStore } from './protocols/responses/response-store.js';
import { toResponse, type AnswerHandler } from './protocols/shared/answer/answer.js';
import { logOnce } from './protocols/shared/ignored-settings.js';
import type { RecordingModel, RolloutClient, RolloutModelOptions } from './recording-model.js';
import { createCounters } from './rollout/counters.js';
import { withAllowedCalls } from './rollout/external.js';
import { createCalls, type Generate, type Generation } from './rollout/generate.js';
import { createHistory, toExperience } from './rollout/history.js';
import { scoreTokens } from './rollout/score.js';

/**
 * Creates the model of one rollout, with its own history and its own ledger of recorded tokens.
 * This takes little time, because the OpenAI client is created on first use. Calls of `chat` use
 * the sampling options of the call. For requests to the endpoint, `clientSampling` determines
 * whether the client's settings are used.
 */
export function createRolloutModel(options: RolloutModelOptions): RecordingModel {
  const { sampler, modelPath } = options;
  const history = createHistory(options.recordHistory ?? true);
  const counters = createCounters();
  const responses = createResponseStore();
  const log = { notices: options.notices ?? new Set<string>(), runtime: options.runtime };
  const external =
    options.external && withAllowedCalls(options.external, (text) => logOnce(log, text));
  const calls = createCalls({ ...options, external }, history, counters, () =>
    responses.forgetEarlier(),
  );
  const home = activeContext();
  // An external model records its calls itself, under its own name and with the usage it reports.
  const generate = external ? calls.generate : traced(calls.generate, options, home);
  const handle = createEndpointHandler({
    ...options,
    generate,
    countPrompt: calls.countPrompt,
    deliveries: {
      markDelivered: (callIndex) => history.markDelivered(callIndex),
      markUndelivered: (callIndex) => {
        counters.add('undelivered');
        history.markUndelivered(callIndex);
      },
    },
    counters,
    tokenizer: options.format.tokenizer,
    instructionRole: options.format.instructionRole,
    isExternal: options.external !== undefined,
    clientSampling: options.clientSampling ?? 'override',
    constrainedDecoding: options.constrainedDecoding ?? false,
    notices: log.notices,
    // In these experiences, `eid.step` is the call index. `History.extract` numbers the recorded
    // calls without gaps.
    onAnswer: (id, { recorded }) =>
      options.onAnswer?.({
        id,
        experiences: recorded.map((choice) => toExperience(choice, choice.callIndex)),
      }),
    responses,
  });
  const answer: AnswerHandler = (request, body) =>
    inRequestContext(request.headers, home, () => handle(request, body));
  const handler: RecordingModel['handler'] = async (request, body) =>
    toResponse(await answer(request, body));
  let agentEndpoint: AgentEndpoint | undefined;
  const endpoint = (): AgentEndpoint =>
    (agentEndpoint ??= createAgentEndpoint({
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
    chat: async (messages, { tools, toolChoice, signal, ...sampling } = {}) => {
      const { choices } = await generate({
        messages,
        tools,
        sampling,
        parseTools: toolChoice !== 'none',
        signal: anySignal(options.signal, signal),
      });
      // Returns copies, because the caller may edit the answer.
      return choices.map(({ response }) => copyOf(response));
    },
    logprobs: (tokens, promptLength, score) =>
      scoreTokens(options, { tokens, promptLength }, score),
    vocabulary: vocabularyOf(options.format.tokenizer),
    openaiClient: () => (client ??= createClient(endpoint())),
    endpoint,
    extractExperiencesFromHistory: ({ clear = true } = {}) => history.extract(clear),
    extracted: () => history.extracted(),
    handler,
    answer,
    forks: () => history.forks(),
    metrics: () => counters.metrics(),
    keptTokens: calls.keptTokens,
  };
}

/** Returns a function that calls `generate` and records the call as a tracing span. */
const traced =
  (generate: Generate, { modelPath, sampler }: RolloutModelOptions, home: TraceContext): Generate =>
  (request) => {
    const { temperature, topP, topK, maxTokens, seed, n } = request.sampling;
    const { messages } = request;
    const call = { model: modelPath, temperature, topP, topK, maxTokens, seed, n, messages };
    return inModelSpan(call, home, answerOf(sampler), () => generate(request));
  };

const answerOf =
  ({ policyVersion }: Sampler) =>
  ({ promptIds, choices }: Generation): ModelAnswer => ({
    inputTokens: promptIds.length,
    outputTokens: choices.reduce((sum, { sequence }) => sum + sequence.tokens.length, 0),
    stopReasons: choices.map(({ sequence }) => sequence.stopReason),
    policyVersion: choices[0]?.sequence.policyVersion ?? policyVersion,
    texts: choices.map(({ response }) => response.responseText),
  });

/**
 * Returns a signal that aborts when any of the given signals aborts. If only one distinct signal is
 * given, returns that signal unchanged, because workflows often pass the signal that the model
 * already has.
 */
const anySignal = (
  a: AbortSignal | undefined,
  b: AbortSignal | undefined,
): AbortSignal | undefined => (a && b && a !== b ? AbortSignal.any([a, b]) : (a ?? b));

/**
 * Base URL and key of a model that is not mounted. The host is never looked up, because requests go
 * to the endpoint's own `fetch`.
 */
const unmounted = { baseURL: 'http://rollout.invalid/v1', apiKey: 'rollout' };

/**
 * Creates a `fetch` function from a handler. As with the global `fetch`, an aborted request
 * rejects.
 */
function fetchOver(handler: (request: Request) => Promise<Response>): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const response = await handler(request);
    request.signal.throwIfAborted();
    return response;
  };
}

/**
 * Creates a client of the openai package. Options that the package would otherwise read from the
 * environment are set to null.
 */
function createClient(endpoint: AgentEndpoint): RolloutClient {
  const client = createOpenAIClient({
    ...endpoint.openai(),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  });
  return Object.assign(client, { modelPath: endpoint.model });
}
