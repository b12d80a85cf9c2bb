/** A model that answers from a script: for trying out and testing workflows without one. */
import {
  createExperience,
  InvariantError,
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  type Experience,
  type ToolCall,
  type Vocabulary,
} from '@trinity-rft/core';
import { OpenAI } from 'openai';
import { createAgentEndpoint } from '../definition/agent-endpoint.js';
import type { AgentModel } from '../definition/types.js';
import { serveCompletions } from './serve-completions.js';

/** One answer: its text, a whole one, or an error to throw. */
export type ScriptedAnswer =
  | string
  | (Partial<Pick<ChatResponse, 'responseText' | 'reasoningText' | 'finishReason'>> & {
      readonly toolCalls?: readonly ScriptedToolCall[];
    })
  | Error;

/** `arguments` that are no text become JSON. */
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
   * A list is used up one answer per choice, in call order; a function is asked for each choice.
   */
  readonly answers:
    | readonly ScriptedAnswer[]
    | ((call: ScriptedCall, choice: number) => ScriptedAnswer);
  /** What `logprobs` says of the tokens after the prompt. @default -0.25 of each */
  readonly score?: (tokens: Int32Array, promptLength: number) => ArrayLike<number>;
  /** @default not known */
  readonly vocabulary?: Vocabulary;
  /** @default "scripted" */
  readonly modelPath?: string;
}

export interface ScriptedModel extends AgentModel {
  /** Every call so far, through whichever door it came. */
  readonly calls: readonly ScriptedCall[];
}

/** Records as the real one does; tokens are character codes, and every log-probability is -0.25. */
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
        `The scripted model was asked for answer ${used}; its script has ${answers.length}.`,
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
  const client = new OpenAI(endpoint.openai());
  return {
    modelPath,
    policyVersion: 0,
    calls,
    chat,
    logprobs: async (tokens, promptLength, { signal } = {}) => {
      signal?.throwIfAborted();
      return score
        ? Float32Array.from(score(Int32Array.from(tokens), promptLength))
        : steady(tokens.length - promptLength);
    },
    vocabulary,
    openaiClient: () => client,
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
  // No answer is empty: at least its end was sampled.
  const response = codes(`${responseText}${calls.length > 0 ? JSON.stringify(calls) : ''}\n`);
  return {
    responseText,
    ...(given.reasoningText !== undefined && { reasoningText: given.reasoningText }),
    toolCalls: calls,
    tokens: Int32Array.from([...prompt, ...response]),
    promptLength: prompt.length,
    logprobs: steady(response.length),
    finishReason: given.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    policyVersion: 0,
    temperature: options.temperature ?? 1,
  };
}

const steady = (length: number): Float32Array => new Float32Array(length).fill(-0.25);
const codes = (text: string): readonly number[] =>
  [...text].map((character) => character.codePointAt(0) ?? 0);
