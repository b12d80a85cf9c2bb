/** Loads a model in this process: chat, streams, an OpenAI client, and sampling of token ids. */
import { randomBytes, randomInt } from 'node:crypto';
import path from 'node:path';
import {
  createChatFormat,
  loadTokenizer,
  normalizeMessages,
  type ChatFormat,
  type ChatFormatOptions,
  type Tokenizer,
} from '@trinity-rft/chat';
import { isGguf } from '@trinity-rft/chat/gguf';
import {
  ConfigError,
  createRuntime,
  deriveSeed,
  ModelError,
  type ToolDefinition,
} from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { createRolloutModel, keptTokensOfServer, type RecordingModel } from '@trinity-rft/model';
import type { OpenAI } from 'openai';
import { toAnswer, toParts, type ChatAnswer, type ChatPart } from './answers.js';
import { checkedChatSettings, type ChatSettings } from '../place/chat-settings.js';
import { findModel, withAdapter, type ModelPlace } from '../place/find-model.js';
import { openLlamaRuntime } from '../runtimes/llama-cpp.js';
import { openOnnxRuntime } from '../runtimes/onnx.js';
import type { Runtime } from '../runtimes/runtime.js';

export type ChatMessages = OpenAI.ChatCompletionCreateParams['messages'];

/**
 * Fields whose results a {@link ChatAnswer} has no place for, with the values that ask for no such
 * result.
 */
const clientOnly = { n: 1, logprobs: false, top_logprobs: 0 } as const;

/**
 * Fields of a chat completion request, named as in OpenAI's API, such as `tools` and `max_tokens`.
 * For several choices or log-probabilities, use {@link LocalModel.openai}.
 */
export type ChatRequest = Omit<
  OpenAI.ChatCompletionCreateParamsNonStreaming,
  'model' | 'messages' | 'stream' | 'stream_options' | keyof typeof clientOnly
> & { readonly signal?: AbortSignal };

export interface LoadModelOptions {
  /**
   * Program that runs the model.
   * @default llama.cpp for GGUF files, otherwise onnx, the embedded engine
   */
  readonly runtime?: 'onnx' | 'llama.cpp';
  /** Name of the model in requests. @default name of the folder, or of the file without .gguf */
  readonly name?: string;
  /**
   * Chat settings, such as the template and parsers, that replace the recorded settings of a run or
   * export. For any other model, `tool_call_parser` is by default the one that fits the template.
   */
  readonly chat?: ChatSettings;
  /** Model folder or GGUF file whose tokenizer and template are used. @default the model itself */
  readonly tokenizer?: string;
  /**
   * Maximum length of prompt and response together, in tokens.
   * @default for onnx, the limit used in training, or else the model's limit; for llama.cpp, the
   * model's limit, but at most 8192
   */
  readonly maxModelLen?: number;
  /** Number of compute threads, at least 1. @default the runtime's choice */
  readonly threads?: number;
  /** llama.cpp only: true to use a graphics card, if there is one. @default true */
  readonly gpu?: boolean;
  /**
   * llama.cpp only: GGUF file of a LoRA adapter for the model. Models loaded from the same file
   * share the weights in memory. Chat settings in the `export.json` beside it replace those of the
   * model.
   * @default no adapter
   */
  readonly adapter?: string;
  /** llama.cpp only: data type of the key and value cache. @default float16 */
  readonly cache?: 'float32';
  /**
   * llama.cpp only: maximum number of requests that are processed concurrently. Further requests
   * wait. @default 4
   */
  readonly sequences?: number;
  /** Seed for requests that do not set one, and for the ids of tool calls. @default random */
  readonly seed?: number;
  /**
   * Function that wraps the sampler, for example to count or time its calls.
   * @default undefined: the sampler is not wrapped
   */
  readonly watch?: (sampler: Sampler) => Sampler;
  /**
   * Called with each server fault of a request. The client then gets an error without the cause.
   * @default undefined: the client gets the cause
   */
  readonly onFault?: (error: unknown) => void;
}

export interface LocalModel {
  /** Model name in requests. */
  readonly name: string;
  readonly place: ModelPlace;
  /** Program that runs the model, or `own` if the caller passed a sampler to {@link modelOver}. */
  readonly runtime: 'onnx' | 'llama.cpp' | 'own';
  readonly format: ChatFormat;
  /** Sampler of the model, which works on token ids. */
  readonly sampler: Sampler;
  /** Maximum length of prompt and response together, in tokens. */
  readonly maxModelLen: number;
  /**
   * Requests a response.
   * @throws the errors that the openai package throws for HTTP responses, such as 400 if a field is
   * invalid or the prompt is too long; ConfigError if the request asks for several choices
   * or for log-probabilities, which an answer does not have
   */
  chat(messages: ChatMessages, request?: ChatRequest): Promise<ChatAnswer>;
  /** Like `chat`, but yields the response in parts as they are sampled. */
  stream(messages: ChatMessages, request?: ChatRequest): AsyncGenerator<ChatPart, void>;
  /** Returns a client of the `openai` package whose requests are handled in this process. */
  openai(): OpenAI;
  /**
   * Replacement for `fetch` in any client of OpenAI's or Anthropic's API. Requests are handled in
   * this process, whatever the host of the URL.
   */
  readonly fetch: typeof globalThis.fetch;
  /**
   * Renders a conversation as the model's prompt.
   * @throws ModelError 400 if the template rejects the conversation
   */
  render(
    messages: readonly unknown[],
    tools?: readonly ToolDefinition[],
  ): { readonly text: string; readonly ids: Int32Array };
  /**
   * Returns the log-probability at temperature 1 of each token from index `promptLength` on, in
   * nats. [R]
   */
  score(tokens: Int32Array, promptLength?: number): Promise<Float32Array>;
  /**
   * Aborts requests in progress and frees the model's memory. A model of the embedded engine keeps
   * the process alive until it is closed.
   */
  close(): Promise<void>;
}

/**
 * Loads a model into this process.
 * @param model path of a run, a checkpoint, a model folder, a GGUF file or an export; see {@link
 * findModel}
 * @throws ConfigError if there is no model, a package is missing or an option is wrong;
 * CheckpointError if the model cannot be used
 */
export async function loadModel(
  model: string,
  options: LoadModelOptions = {},
): Promise<LocalModel> {
  assertOptions(options);
  const { threads, gpu, adapter, cache, sequences } = options;
  const found = await findModel(model);
  const place = adapter === undefined ? found : await withAdapter(found, adapter);
  const { location } = place;
  const kind = options.runtime ?? (isGguf(location) ? 'llama.cpp' : 'onnx');
  if (kind === 'llama.cpp' && !isGguf(location))
    throw new ConfigError(
      `llama.cpp reads GGUF files, and ${location} is a folder. Export it first: trinity export ${model} --to gguf -o DIR`,
      { code: 'RUNTIME_MODEL' },
    );
  const chat = { ...place.chat, ...checkedChatSettings({ ...options.chat }, 'chat') };
  const tokenizer = await loadTokenizer(options.tokenizer ?? location);
  const format = formatAt({ ...place, chat }, tokenizer);
  const maxModelLen = options.maxModelLen ?? (kind === 'onnx' ? chat.max_model_len : undefined);
  if (kind === 'onnx' && adapter !== undefined)
    throw new ConfigError(
      `adapter is ${adapter}, but the embedded engine runs ${location}. Name its lora_adapter's checkpoint, or merge it: trinity convert ${location} OUTPUT --adapter FOLDER`,
      { code: 'RUNTIME_MODEL' },
    );
  const runtime =
    kind === 'onnx'
      ? await openOnnxRuntime(location, { tokenizer, maxModelLen, threads })
      : await openLlamaRuntime(location, {
          tokenizer,
          maxModelLen,
          threads,
          gpu,
          adapter,
          cache,
          sequences,
        });
  const name = options.name ?? path.basename(path.resolve(location)).replace(/\.gguf$/i, '');
  const { watch = (sampler) => sampler, seed, onFault } = options;
  const watched = { ...runtime, sampler: watch(runtime.sampler) };
  return localModel(watched, { kind, name, place, format, seed, onFault });
}

function assertOptions(options: LoadModelOptions): void {
  const refuse = (name: string, value: unknown, expected: string): never => {
    throw new ConfigError(`The option ${name} is ${String(value)}; expected ${expected}.`, {
      code: 'ARGUMENT_INVALID',
    });
  };
  const { runtime = 'onnx' } = options;
  if (!['onnx', 'llama.cpp'].includes(runtime)) refuse('runtime', runtime, 'onnx or llama.cpp');
  for (const name of ['threads', 'maxModelLen', 'sequences'] as const) {
    const { [name]: count = 1 } = options;
    if (!Number.isInteger(count) || count < 1) refuse(name, count, 'a whole number of at least 1');
  }
}

/** Converts chat settings to options of `createChatFormat`. */
export const chatFormatOptions = (chat: ChatSettings): Omit<ChatFormatOptions, 'tokenizer'> => ({
  chatTemplate: chat.chat_template,
  toolCallParser: chat.tool_call_parser,
  reasoningParser: chat.reasoning_parser,
  toolPrompt: chat.tool_prompt,
  enableThinking: chat.enable_thinking,
});

/**
 * Creates the chat format of a tokenizer with the given settings.
 * @throws ConfigError if there is no template, or no parser of the given name
 */
export const chatFormatOf = (tokenizer: Tokenizer, chat: ChatSettings): ChatFormat =>
  createChatFormat({ tokenizer, ...chatFormatOptions(chat) });

const formatAt = ({ chat, isPlain = false }: ModelPlace, tokenizer: Tokenizer): ChatFormat =>
  createChatFormat({ tokenizer, ...chatFormatOptions(chat), detectToolCalls: isPlain });

/**
 * Creates a {@link LocalModel} that uses the caller's sampler.
 * @param place model whose tokenizer, template and settings are used
 */
export async function modelOver(
  sampler: Sampler,
  place: ModelPlace,
  { name, seed }: Pick<LoadModelOptions, 'seed'> & { readonly name: string },
): Promise<LocalModel> {
  const format = formatAt(place, await loadTokenizer(place.location));
  const runtime = { sampler, enforcesFormats: false, close: () => Promise.resolve() };
  return localModel(runtime, { kind: 'own', name, place, format, seed });
}

interface Parts {
  readonly kind: LocalModel['runtime'];
  readonly name: string;
  readonly place: ModelPlace;
  readonly format: ChatFormat;
  readonly seed: number | undefined;
  readonly onFault?: LoadModelOptions['onFault'] | undefined;
}

/** Base URL of requests. Its host name never resolves, so requests cannot leave this process. */
const baseURL = 'http://model.invalid/v1';

function localModel(runtime: Runtime, parts: Parts): LocalModel {
  const { kind, name, place, format } = parts;
  const { sampler } = runtime;
  const closed = new AbortController();
  const model = createModel(runtime, parts, closed.signal);
  const fetch: typeof globalThis.fetch = async (input, init) => {
    // A request without `init` is used unchanged: `new Request` cannot copy the Request objects of
    // some HTTP servers.
    const request =
      input instanceof Request && init === undefined ? input : new Request(input, init);
    const response = await model.handler(request);
    request.signal.throwIfAborted();
    return response;
  };
  let client: OpenAI | undefined;
  const openai = (): OpenAI => (client ??= model.openaiClient().withOptions({ fetch, baseURL }));
  return {
    name,
    place,
    runtime: kind,
    format,
    sampler,
    maxModelLen: sampler.maxModelLen,
    fetch,
    openai,
    chat: async (messages, { signal, ...request } = {}) => {
      assertRequest(request);
      return toAnswer(
        await openai().chat.completions.create({ ...request, model: name, messages }, { signal }),
      );
    },
    async *stream(messages, { signal, ...request } = {}) {
      assertRequest(request);
      const chunks = await openai().chat.completions.create(
        {
          ...request,
          model: name,
          messages,
          stream: true,
          stream_options: { include_usage: true },
        },
        { signal },
      );
      yield* toParts(chunks);
    },
    render: (messages, tools) => {
      const text = format.render({ messages: normalizeMessages(messages), tools });
      return { text, ids: format.encode(text) };
    },
    score: async (tokens, promptLength = 1) => {
      if (sampler.score) return sampler.score({ tokens, promptLength, temperature: 1 });
      throw new ConfigError(`${kind} does not score texts.`, { code: 'SCORE_MISSING' });
    },
    close: async () => {
      closed.abort(
        new ModelError(`The model "${name}" was closed. Load it again.`, {
          status: 410,
          code: 'model_closed',
        }),
      );
      await runtime.close();
    },
  };
}

function assertRequest(request: { readonly [name: string]: unknown }): void {
  const found = Object.entries(clientOnly).find(([name, none]) => (request[name] ?? none) !== none);
  if (found)
    throw new ConfigError(
      `The request has ${found[0]}: ${JSON.stringify(request[found[0]])}, whose results an answer does not have. Use openai().chat.completions.create(...) of the model.`,
      { code: 'ARGUMENT_INVALID' },
    );
}

/**
 * Creates the rollout model, which handles all requests. It continues a conversation from the
 * sampled token ids, as in training.
 */
function createModel(runtime: Runtime, parts: Parts, signal: AbortSignal): RecordingModel {
  const { name, format, seed = randomInt(2 ** 31), onFault } = parts;
  const runtimeOfCalls = {
    ...createRuntime({ seed }),
    newId: (prefix: string) => `${prefix}_${randomBytes(12).toString('base64url')}`,
  };
  let drawnSeeds = 0;
  return createRolloutModel({
    sampler: runtime.sampler,
    format,
    modelPath: name,
    clientSampling: 'respect',
    strictFields: true,
    independentClients: true,
    streamText: 'sampled',
    constrainedDecoding: runtime.enforcesFormats,
    recordHistory: false,
    keptTokens: keptTokensOfServer,
    toolCallSalt:
      parts.seed === undefined
        ? randomBytes(6).toString('hex')
        : deriveSeed(parts.seed, 'tool calls').toString(36),
    seedFor: () => runtimeOfCalls.seedFor('local', ++drawnSeeds),
    signal,
    onFault,
    runtime: runtimeOfCalls,
  });
}
