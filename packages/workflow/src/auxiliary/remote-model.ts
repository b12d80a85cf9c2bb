/** An auxiliary model in an OpenAI-compatible service. It is neither trained nor recorded. */
import {
  ModelError,
  WorkflowError,
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  unknownPolicyVersion,
} from '@trinity-rft/core';
import type { OpenAI } from 'openai';
import { createAgentEndpoint } from '../definition/agent-endpoint.js';
import { createOpenAIClient } from '../definition/openai-client.js';
import type { AgentModel } from '../definition/types.js';
import { boundFetch } from './bound-fetch.js';
import { readChoices, readResponse } from './read-answer.js';
import { remoteCall } from './remote-call.js';
import { remoteLogprobs } from './remote-logprobs.js';
import type { RemoteModelOptions } from './remote-call.js';

/**
 * Creates a client model for an OpenAI-compatible service. The responses of `chat` have text, tool
 * calls and finish reasons, but empty `tokens` and `logprobs`, so they cannot be trained on.
 * `topLogprobs` is not supported.
 */
export function createRemoteModel(options: RemoteModelOptions): AgentModel {
  const { baseURL, apiKey, modelPath } = options;
  const fetch = boundFetch(options);
  const endpoint = createAgentEndpoint({ baseURL, apiKey, model: modelPath, fetch });
  const { maxRetries = 2 } = options;
  // With null, the openai package does not read its environment variables.
  const noEnvironment = {
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  };
  let client: OpenAI | undefined;
  const openaiClient = (): OpenAI =>
    (client ??= createOpenAIClient({ ...endpoint.openai(), ...noEnvironment, maxRetries }));
  return {
    modelPath,
    policyVersion: unknownPolicyVersion,
    openaiClient,
    endpoint: () => endpoint,
    chat: (messages, call = {}) => chat(openaiClient(), options, { messages, call }),
    logprobs: (tokens, promptLength, score) =>
      remoteLogprobs(openaiClient(), options, { tokens, promptLength, ...score }),
    vocabulary: undefined,
    extractExperiencesFromHistory: () => {
      throw new WorkflowError(
        `The auxiliary model "${modelPath}" records no history, because it is not trained. ` +
          'Extract experiences from the rollout model.',
        { code: 'HISTORY_OFF' },
      );
    },
  };
}

interface Call {
  readonly messages: readonly ChatMessage[];
  readonly call: ChatOptions;
}

async function chat(
  client: OpenAI,
  options: RemoteModelOptions,
  { messages, call }: Call,
): Promise<readonly ChatResponse[]> {
  const { modelPath, defaults } = options;
  if ((call.topLogprobs ?? 0) > 0) {
    throw new ModelError(
      `The remote model "${modelPath}" does not support topLogprobs. Remove it.`,
      { status: 400, code: 'not_available' },
    );
  }
  const temperature = call.temperature ?? defaults?.temperature;
  return remoteCall(options, call.signal, async (signal) => {
    const ended = new AbortController();
    const bound = { signal: AbortSignal.any([signal, ended.signal]) };
    const ask = async (n: number): Promise<readonly ChatResponse[]> => {
      const body = toRequest(messages, { ...call, n }, options);
      const completion = await client.chat.completions.create(body, bound);
      return readChoices(completion, options).map((choice) => ({
        ...readResponse(choice, options),
        temperature: temperature ?? 1,
      }));
    };
    const { n = 1 } = call;
    const answers = await ask(n);
    // Some services ignore `n`, for example Ollama.
    const length = Math.max(0, n - answers.length);
    try {
      const rest = await Promise.all(Array.from({ length }, () => ask(1)));
      return [...answers, ...rest.flat()];
    } finally {
      ended.abort();
    }
  });
}

type CompletionRequest = OpenAI.ChatCompletionCreateParamsNonStreaming;

/**
 * Converts the arguments of `chat` to a request. Omits fields that equal the defaults of services,
 * and sends `top_k` and `min_tokens` only if they have an effect, because OpenAI's API rejects
 * them. The fetch function adds the configured settings of the model, for this client as for all
 * others.
 */
function toRequest(
  messages: readonly ChatMessage[],
  call: ChatOptions,
  { modelPath }: Pick<RemoteModelOptions, 'modelPath'>,
): CompletionRequest & Readonly<Record<string, unknown>> {
  const { n, temperature, topP, topK, minTokens, stop = [], tools = [] } = call;
  return {
    model: modelPath,
    messages: messages as unknown as OpenAI.ChatCompletionMessageParam[],
    n: n === 1 ? undefined : n,
    temperature,
    top_p: topP,
    max_tokens: call.maxTokens,
    stop: stop.length > 0 ? [...stop] : undefined,
    tools: tools.length > 0 ? (tools as unknown as OpenAI.ChatCompletionTool[]) : undefined,
    // Services reject the field without tools.
    tool_choice: tools.length > 0 ? call.toolChoice : undefined,
    top_k: topK !== undefined && topK > 0 ? topK : undefined,
    min_tokens: minTokens !== undefined && minTokens > 0 ? minTokens : undefined,
  };
}
