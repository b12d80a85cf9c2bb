/**
 * A model behind an OpenAI-compatible address, for workflows to ask: never trained, never recorded.
 */
import {
  ModelError,
  unknownPolicyVersion,
  WorkflowError,
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  type FinishReason,
} from '@trinity-rft/core';
import { OpenAI } from 'openai';
import { createAgentEndpoint } from '../definition/agent-endpoint.js';
import type { AgentModel } from '../definition/types.js';
import { longestTimer, remoteCall } from './remote-call.js';
import { remoteLogprobs } from './remote-logprobs.js';

export interface RemoteModelOptions {
  /** Ends in `/v1`, or wherever the API begins. */
  readonly baseURL: string;
  /** A secret. It goes to that address and, through `endpoint()`, to the workflow. */
  readonly apiKey: string;
  /** Name of the model there. */
  readonly modelPath: string;
  /** Sent where a call does not say; what is not set is left to the service. */
  readonly defaults?: Pick<ChatOptions, 'temperature' | 'topP' | 'maxTokens'>;
  /**
   * Sent as `chat_template_kwargs.enable_thinking`, which vLLM and SGLang read.
   * @default not sent
   */
  readonly enableThinking?: boolean;
  /** Of one call with its repetitions, in milliseconds. */
  readonly timeoutMs: number;
  /** Repetitions of a call that failed for a reason that may pass. @default 2 */
  readonly maxRetries?: number;
  /** Ends every call. */
  readonly signal?: AbortSignal;
  /** @default the global one */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Of what `chat` answers, only the texts, tool calls and finish reasons are known: `tokens` and
 * `logprobs` are empty, `promptLength` is 0 and `policyVersion` {@link unknownPolicyVersion}, so
 * that an answer cannot be trained on. `topLogprobs` is refused.
 */
export function createRemoteModel(options: RemoteModelOptions): AgentModel {
  const { baseURL, apiKey, modelPath } = options;
  const fetch = boundFetch(options);
  const endpoint = createAgentEndpoint({ baseURL, apiKey, model: modelPath, fetch });
  const { maxRetries = 2, timeoutMs: timeout } = options;
  // Environment variables of the openai package have no influence.
  const own = { adminAPIKey: null, organization: null, project: null, webhookSecret: null };
  let client: OpenAI | undefined;
  const openaiClient = (): OpenAI =>
    (client ??= new OpenAI({ ...endpoint.openai(), ...own, maxRetries, timeout }));
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
        `The auxiliary model "${modelPath}" keeps no history, because it is not trained. Take experiences from the rollout model.`,
        {
          code: 'HISTORY_OFF',
        },
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
  const { modelPath, defaults = {} } = options;
  if (call.topLogprobs !== undefined && call.topLogprobs > 0) {
    throw new ModelError(
      `Log-probabilities of "${modelPath}" are not known here: it is a remote model. Remove topLogprobs.`,
      {
        status: 400,
        code: 'not_available',
      },
    );
  }
  const temperature = call.temperature ?? defaults.temperature;
  return remoteCall(options, call.signal, async (signal) => {
    const body = {
      ...toRequest(messages, { ...defaults, ...call }, options),
      ...(temperature !== undefined && { temperature }),
    };
    const { choices } = await client.chat.completions.create(body, { signal });
    return choices.map((choice) => toResponse(choice, temperature ?? 1));
  });
}

type CompletionRequest = OpenAI.ChatCompletionCreateParamsNonStreaming;

/**
 * `top_k`, `min_tokens` and `chat_template_kwargs` are no part of OpenAI's API: they are sent only
 * where they are asked for.
 */
function toRequest(
  messages: readonly ChatMessage[],
  call: ChatOptions,
  { modelPath, enableThinking }: RemoteModelOptions,
): CompletionRequest {
  return {
    model: modelPath,
    messages: messages as unknown as OpenAI.ChatCompletionMessageParam[],
    ...(call.n !== undefined && call.n !== 1 && { n: call.n }),
    ...(call.topP !== undefined && call.topP !== 1 && { top_p: call.topP }),
    ...(call.maxTokens !== undefined && { max_tokens: call.maxTokens }),
    ...(call.stop && call.stop.length > 0 && { stop: [...call.stop] }),
    ...(call.tools &&
      call.tools.length > 0 && { tools: call.tools as unknown as OpenAI.ChatCompletionTool[] }),
    ...(call.topK !== undefined && call.topK > 0 && { top_k: call.topK }),
    ...(call.minTokens !== undefined && call.minTokens > 0 && { min_tokens: call.minTokens }),
    ...(enableThinking !== undefined && {
      chat_template_kwargs: { enable_thinking: enableThinking },
    }),
  };
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  tool_calls: 'tool_calls',
};

function toResponse(
  { message, finish_reason: reason }: OpenAI.ChatCompletion.Choice,
  temperature: number,
): ChatResponse {
  const { reasoning_content: reasoning } = message as { readonly reasoning_content?: unknown };
  const toolCalls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
  return {
    responseText: message.content ?? '',
    ...(typeof reasoning === 'string' && { reasoningText: reasoning }),
    toolCalls: toolCalls.map(({ id, function: { name, arguments: raw } }) => ({
      id,
      type: 'function',
      function: { name, arguments: raw },
    })),
    tokens: new Int32Array(),
    promptLength: 0,
    logprobs: new Float32Array(),
    finishReason: finishReasons[reason] ?? 'stop',
    policyVersion: unknownPolicyVersion,
    temperature,
  };
}

/** Every request ends with the run that makes it, whoever makes it. */
function boundFetch({
  signal,
  timeoutMs,
  fetch = globalThis.fetch,
}: RemoteModelOptions): typeof globalThis.fetch {
  return (input, init) => {
    const own = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const signals = [AbortSignal.timeout(Math.min(timeoutMs, longestTimer)), signal, own].filter(
      (one) => one !== undefined && one !== null,
    );
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };
}
