/** Creates models that return predefined responses, for trying out and testing workflows. */
import {
  createExperience,
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  type Experience,
  type ToolCall,
  InvariantError,
} from '@trinity-rft/core';
import type { Vocabulary } from '@trinity-rft/core/internal';
import type { OpenAI } from 'openai';
import { createAgentEndpoint } from '../definition/agent-endpoint.js';
import { createOpenAIClient } from '../definition/openai-client.js';
import type { AgentModel } from '../definition/types.js';
import { serveCompletions } from './serve-completions.js';

/** Predefined response: its text, fields of a `ChatResponse`, or an error to throw. */
export type ScriptedAnswer =
  | string
  | (Partial<Pick<ChatResponse, 'responseText' | 'reasoningText' | 'finishReason'>> & {
      readonly toolCalls?: readonly ScriptedToolCall[];
    })
  | Error;

/** Tool call in a predefined response. `arguments` that are not a string are converted to JSON. */
export interface ScriptedToolCall {
  readonly name: string;
  readonly arguments: unknown;
}

export interface ScriptedCall {
  readonly messages: readonly ChatMessage[];
  readonly options: ChatOptions;
}

export interface ScriptedModelOptions {
  /**
   * Responses in the order in which they are used, one per choice of each call; or a function that
   * returns the response for each choice.
   */
  readonly answers:
    | readonly ScriptedAnswer[]
    | ((call: ScriptedCall, choice: number) => ScriptedAnswer);
  /**
   * Implements `logprobs`: returns one log-probability per response token.
   * @default -0.25 for each token
   */
  readonly score?: (tokens: Int32Array, promptLength: number) => ArrayLike<number>;
  /** Vocabulary of the model. @default undefined: the vocabulary is unknown */
  readonly vocabulary?: Vocabulary;
  /** Name of the model. @default "scripted" */
  readonly modelPath?: string;
}

export interface ScriptedModel extends AgentModel {
  /** Calls so far, both by `chat` and through the endpoint. */
  readonly calls: readonly ScriptedCall[];
}

/**
 * Creates a model with predefined responses, which also records its calls. Its tokens are code
 * points, and each token has the log-probability -0.25.
 */
export function scriptedModel({
  answers,
  score,
  vocabulary,
  modelPath = 'scripted',
}: ScriptedModelOptions): ScriptedModel {
  const calls: ScriptedCall[] = [];
  let recorded: Experience[] = [];
  let used = 0;
  const next = (call: ScriptedCall, choice: number): ScriptedAnswer => {
    if (typeof answers === 'function') return answers(call, choice);
    const answer = answers[used++];
    if (answer === undefined)
      throw new InvariantError(
        `The scripted model needs answer ${used}, but its script has only ${answers.length}.`,
      );
    return answer;
  };
  const chat = async (
    messages: readonly ChatMessage[],
    options: ChatOptions = {},
  ): Promise<readonly ChatResponse[]> => {
    options.signal?.throwIfAborted();
    const call = { messages: structuredClone(messages) as readonly ChatMessage[], options };
    const step = calls.push(call) - 1;
    const responses = Array.from({ length: options.n ?? 1 }, (_, choice) =>
      toResponse(next(call, choice), call, `call_${step}_${choice}`),
    );
    recorded.push(
      ...responses.map((response, choice) =>
        createExperience({ ...response, eid: { step, suffix: String(choice) } }),
      ),
    );
    return responses;
  };
  const endpoint = createAgentEndpoint({
    baseURL: 'http://scripted.invalid/v1',
    apiKey: 'scripted',
    model: modelPath,
    fetch: serveCompletions(modelPath, chat),
  });
  let client: OpenAI | undefined;
  return {
    modelPath,
    policyVersion: 0,
    calls,
    chat,
    logprobs: async (tokens, promptLength, { signal } = {}) => {
      signal?.throwIfAborted();
      return score
        ? Float32Array.from(score(Int32Array.from(tokens), promptLength))
        : constantLogprobs(tokens.length - promptLength);
    },
    vocabulary,
    openaiClient: () => (client ??= createOpenAIClient(endpoint.openai())),
    endpoint: () => endpoint,
    extractExperiencesFromHistory: ({ clear = true } = {}) => {
      const all = recorded;
      if (clear) recorded = [];
      return [...all];
    },
  };
}

function toResponse(
  answer: ScriptedAnswer,
  { messages, options }: ScriptedCall,
  idPrefix: string,
): ChatResponse {
  if (answer instanceof Error) throw answer;
  const given = typeof answer === 'string' ? { responseText: answer } : answer;
  const { responseText = '', toolCalls = [] } = given;
  const calls = toolCalls.map(({ name, arguments: args }, k): ToolCall => ({
    id: `${idPrefix}_${k}`,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  const prompt = codes(JSON.stringify(messages));
  // The line break is the end token, so that even an empty answer has one token.
  const response = codes(`${responseText}${calls.length > 0 ? JSON.stringify(calls) : ''}\n`);
  return {
    responseText,
    reasoningText: given.reasoningText,
    toolCalls: calls,
    tokens: Int32Array.from([...prompt, ...response]),
    promptLength: prompt.length,
    logprobs: constantLogprobs(response.length),
    finishReason: given.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    policyVersion: 0,
    temperature: options.temperature ?? 1,
  };
}

const constantLogprobs = (length: number): Float32Array => new Float32Array(length).fill(-0.25);
const codes = (text: string): readonly number[] =>
  [...text].map((character) => character.codePointAt(0) ?? 0);
