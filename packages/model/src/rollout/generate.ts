/**
 * Generates a recorded response from messages. `chat` and all protocols of the endpoint use this
 * module.
 */
import {
  createLedger,
  normalizeMessages,
  type ChatFormat,
  type Ledger,
  type LedgerPrompt,
  type NormalMessage,
  type ParsedTurn,
  type ResponseConstraint,
  type Tokenizer,
  type TurnReader,
} from '@trinity-rft/chat';
import { textBeforeStop } from '@trinity-rft/chat/internal';
import {
  ModelError,
  TrinityError,
  type ChatResponse,
  type Clock,
  type ToolDefinition,
  CancelledError,
} from '@trinity-rft/core';
import type { Sampler, SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';
import { callsInConversation, toChatResponse, toMessage, toToolCalls } from './chat-response.js';
import type { Counters } from './counters.js';
import { askExternal, type Answer, type ExternalModel } from './external.js';
import type { History, RecordedChoice } from './history.js';
import {
  resolveSampling,
  type CallSampling,
  type RolloutLimits,
  type SamplingDefaults,
} from './sampling.js';
import { createLongTexts, type EncodeText, type LongTexts } from './long-texts.js';
import { normalizeTools } from './tool-definitions.js';

/** Value of {@link GenerateOptions.keptTokens} for the models of servers. */
export const keptTokensOfServer = 4_000_000;

/** Tokens that a call counts at least: a short one leaves messages and a stored response, too. */
const minTokensOfCall = 500;

/** Estimate for prompts whose token ids are not known. */
const charactersPerToken = 4;

export interface GenerateOptions {
  readonly sampler: Sampler;
  /**
   * External model that responds with text instead of the sampler. Log-probabilities are then 0, so
   * only algorithms that do not use log-probabilities may learn from the responses.
   * @default undefined: the sampler responds
   */
  readonly external?: ExternalModel;
  /** Chat format, with caches. All rollouts of a model should share one object. */
  readonly format: ChatFormat;
  readonly defaults?: SamplingDefaults;
  readonly limits?: RolloutLimits;
  /**
   * Returns the seed for call `callIndex` of the rollout, from 0. Equal seeds and prompts give
   * equal responses.
   */
  readonly seedFor: (callIndex: number) => number;
  /**
   * `restore` adds reasoning that an agent has omitted from its history; see `LedgerOptions`.
   * @default "as-sent"
   */
  readonly reasoning?: 'as-sent' | 'restore';
  /**
   * Letters and digits in the ids of tool calls. Set it to a random text for models that serve
   * clients, so that a conversation that continues in another session or process has no id twice.
   * @default undefined: ids tell only the positions of calls, so equal rollouts have equal ids
   */
  readonly toolCallSalt?: string;
  /**
   * Number of latest tokens whose turns and stored responses are never dropped. Every call counts
   * the tokens of its prompt, at least 500, and of its completions; failed calls and counts of
   * prompt tokens are calls, too. A prompt that is rejected before it is tokenized counts as one
   * token per four characters. Older calls are dropped in groups, so that at most
   * 2 × `keptTokens` and a call are stored. Set it for models that never end.
   * @default no limit
   */
  readonly keptTokens?: number;
  /**
   * True if the model may think before it responds.
   * @default undefined: the chat template decides
   */
  readonly enableThinking?: boolean;
  /**
   * True to enforce the response format and the tool calls that a request requires, if the sampler
   * can. Recorded log-probabilities are then those of the constrained distribution. If false, the
   * format is only described to the model.
   * @default false
   */
  readonly constrainedDecoding?: boolean;
  /** True to include the prompt as text in experiences. @default false */
  readonly includePromptText?: boolean;
  readonly runtime: { readonly clock: Pick<Clock, 'now'> };
  /**
   * Tokenizes long texts in another thread, so that other calls can continue.
   * @default all texts are tokenized in this thread
   */
  readonly encodeLongText?: EncodeText;
}

/** The part of an unfinished turn that is final. Later values only add to this part. */
export type TurnSoFar = Pick<ChatResponse, 'responseText' | 'reasoningText' | 'toolCalls'>;

/** The part of a request that determines its prompt. */
interface PromptRequest {
  /** Messages as the client sent them. */
  readonly messages: readonly unknown[];
  /**
   * Prompt as text or token ids, which the model continues. No messages, chat template or parsers
   * are used.
   */
  readonly plain?: string | Int32Array;
  readonly tools?: readonly unknown[];
  /** Additional variables for the chat template. */
  readonly templateArgs?: Readonly<Record<string, unknown>>;
}

export interface GenerateRequest extends PromptRequest {
  /** True to parse tool calls from the response, if there are tools. */
  readonly parseTools: boolean;
  readonly sampling: CallSampling;
  /** Constraint on the response. It is enforced only with `constrainedDecoding`. */
  readonly constraint?: Omit<ResponseConstraint, 'tools'>;
  /**
   * Called with the turn so far while it is sampled, if the sampler reports tokens as they are
   * sampled.
   */
  readonly onTurn?: (choice: number, turn: TurnSoFar) => void;
  /** Signal that aborts the call. The call is also aborted when the rollout ends. */
  readonly signal?: AbortSignal;
}

/** Result of {@link Generate}. The call has already been recorded. */
export interface Generation {
  /** Index of the call within the rollout, from 0. Calls whose sampling fails are counted too. */
  readonly callIndex: number;
  readonly promptIds: Int32Array;
  readonly choices: readonly Choice[];
  /** The choices as they were added to the history. */
  readonly recorded: readonly RecordedChoice[];
}

export interface Choice {
  readonly response: ChatResponse;
  readonly sequence: SampledSequence;
  readonly turn: Pick<ParsedTurn, 'malformedToolCalls' | 'unreadToolCalls'>;
}

/** Samples a response and records the call. @throws ModelError, CancelledError, EngineError */
export type Generate = (request: GenerateRequest) => Promise<Generation>;

/**
 * Returns the number of tokens in a prompt. Does not sample or record anything.
 * @throws ModelError
 */
export type CountPrompt = (request: PromptRequest) => Promise<number>;

export interface Calls {
  /** Samples a response. When it has finished, records the call before returning the response. */
  readonly generate: Generate;
  readonly countPrompt: CountPrompt;
  /**
   * Returns the number of tokens that are kept, counted as for {@link GenerateOptions.keptTokens}.
   * Returns 0 as long as no call was recorded.
   */
  readonly keptTokens: () => number;
}

interface Rollout {
  readonly options: GenerateOptions;
  readonly ledger: Ledger;
  readonly texts: LongTexts;
  readonly history: History;
  readonly counters: Counters;
}

/**
 * Creates the functions that answer calls.
 * @param forgetResponses forgets the stored responses of all calls before its previous call
 */
export function createCalls(
  options: GenerateOptions,
  history: History,
  counters: Counters,
  forgetResponses: () => void,
): Calls {
  const {
    format,
    runtime: { clock },
  } = options;
  const texts = createLongTexts(options);
  const { reasoning, keptTokens = Infinity } = options;
  const ledger = createLedger(texts.format, { reasoning });
  const rollout = { options, ledger, texts, history, counters };
  let calls = 0;
  let hasRecorded = false;
  // Tokens of the calls that are forgotten next, and of those after them.
  let [earlier, latest] = [0, 0];
  const begin = (): void => {
    if (latest >= keptTokens) {
      ledger.forgetEarlier();
      forgetResponses();
      [earlier, latest] = [latest, 0];
    }
    latest += minTokensOfCall;
  };
  const countTokens = (tokens: number): void => {
    latest += Math.max(0, tokens - minTokensOfCall);
  };
  // The result is a promise only if the prompt has long texts, so that other calls are numbered in
  // the order of their requests.
  const promptOf = (
    request: PromptRequest,
    conversation: Conversation,
  ): LedgerPrompt | Promise<LedgerPrompt> => {
    const made = (prompt: LedgerPrompt): LedgerPrompt => {
      countTokens(prompt.ids.length);
      return prompt;
    };
    // The ledger keeps the messages of a prompt that fails, too.
    const failed = (error: unknown): never => {
      countTokens(Math.ceil(JSON.stringify(conversation.messages).length / charactersPerToken));
      throw error;
    };
    try {
      const prompt = texts.attempt(() => promptFor(rollout, request, conversation));
      return prompt instanceof Promise ? prompt.then(made, failed) : made(prompt);
    } catch (error) {
      return failed(error);
    }
  };
  const countPrompt: CountPrompt = async (request) => {
    begin();
    const conversation = conversationOf(request);
    const { ids } = await promptOf(request, conversation);
    return ids.length;
  };
  const generate: Generate = async (request) => {
    const { signal } = request;
    throwIfAborted(signal);
    begin();
    const conversation = conversationOf(request);
    const { tools } = conversation;
    const made = promptOf(request, conversation);
    const prompt = made instanceof Promise ? await made : made;
    markDelivered(history, conversation, prompt);
    throwIfAborted(signal);
    const settings = settingsFor(rollout, request, tools, prompt.ids, calls);
    const callIndex = calls++;
    const asked = { request, conversation, prompt: prompt.ids, settings, callIndex };
    const start = clock.now();
    const answers = await answersOf(rollout, asked);
    const time = { start, end: clock.now() };
    throwIfAborted(signal);
    const choices = answers.map(({ sequence, turn }, choice): Choice => {
      const response = toChatResponse({
        promptIds: prompt.ids,
        sequence,
        turn,
        temperature: settings.temperature,
        format,
        callIndex,
        choice,
        toolCallSalt: options.toolCallSalt,
        isExternal: options.external !== undefined,
      });
      return { response, sequence, turn };
    });
    const recorded = record(rollout, prompt, choices, { callIndex, time });
    for (const { sequence } of choices) latest += sequence.tokens.length;
    hasRecorded = true;
    return { callIndex, promptIds: prompt.ids, choices, recorded };
  };
  return { generate, countPrompt, keptTokens: () => (hasRecorded ? earlier + latest : 0) };
}

interface AskedCall {
  readonly request: GenerateRequest;
  readonly conversation: Conversation;
  readonly prompt: Int32Array;
  readonly settings: SamplingOptions;
  readonly callIndex: number;
}

async function answersOf(rollout: Rollout, call: AskedCall): Promise<readonly Answer[]> {
  const { sampler, format, external, enableThinking } = rollout.options;
  const { request, conversation, prompt, settings, callIndex } = call;
  const { signal } = request;
  if (external) {
    const { policyVersion } = sampler;
    const { parseTools } = request;
    const question = {
      ...conversation,
      parseTools,
      enableThinking,
      settings,
      policyVersion,
      signal,
    };
    return askExternal(external, format, question);
  }
  const callable = (request.parseTools && conversation.tools) || false;
  const listener = listenerFor(rollout, request, { prompt, callIndex, callable });
  const sequences = await sampler.sample(prompt, settings, signal, listener);
  return sequences.map((sequence) => {
    const { tokens, stopString } = sequence;
    const turn =
      request.plain === undefined
        ? format.readTurn(tokens, { tools: callable, stopString, promptIds: prompt })
        : plainTurn(sequence, format.tokenizer);
    return { sequence, turn };
  });
}

interface Conversation {
  readonly messages: readonly NormalMessage[];
  readonly tools: readonly ToolDefinition[] | undefined;
}

const conversationOf = ({ messages, plain, tools }: PromptRequest): Conversation => ({
  tools: normalizeTools(tools),
  messages: plain === undefined ? normalizeMessages(messages) : [],
});

function promptFor(
  { options: { enableThinking }, ledger, texts }: Rollout,
  { plain, templateArgs }: PromptRequest,
  conversation: Conversation,
): LedgerPrompt {
  if (plain !== undefined) return plainPrompt(plain, texts.format);
  return ledger.prompt({ ...conversation, enableThinking, templateArgs });
}

/**
 * Marks the responses that a conversation contains as delivered. The client must have received them
 * to include them.
 */
function markDelivered(
  history: History,
  { messages }: Conversation,
  { continues }: LedgerPrompt,
): void {
  for (const callIndex of callsInConversation(messages)) history.markDelivered(callIndex);
  if (continues !== undefined) history.markDelivered(continues);
}

/**
 * Creates a prompt without the chat template. Token ids are used unchanged. For text, adds the ids
 * that the tokenizer puts before every text, unless the text already begins with them.
 */
function plainPrompt(plain: string | Int32Array, format: ChatFormat): LedgerPrompt {
  const { prefixIds } = format.tokenizer;
  const encoded = typeof plain === 'string' ? format.encode(plain) : plain;
  const isComplete = plain === encoded || prefixIds.every((id, i) => id === encoded[i]);
  return {
    ids: isComplete ? encoded : Int32Array.from([...prefixIds, ...encoded]),
    reused: 0,
    outcome: 'new',
    restored: 0,
    replacedCalls: 0,
  };
}

function settingsFor(
  { options, counters }: Rollout,
  { constraint, sampling }: GenerateRequest,
  tools: readonly ToolDefinition[] | undefined,
  promptIds: Int32Array,
  callIndex: number,
): SamplingOptions & { readonly temperature: number } {
  const { sampler, format, defaults = {}, limits = {} } = options;
  const grammar =
    options.constrainedDecoding && constraint
      ? format.constrain({ ...constraint, tools }, promptIds)
      : undefined;
  const context = {
    defaults,
    limits,
    promptLength: promptIds.length,
    maxModelLen: sampler.maxModelLen,
    stopTokenIds: format.stopTokenIds,
    seed: sampling.seed ?? options.seedFor(callIndex),
  };
  try {
    const settings = resolveSampling(sampling, context);
    return grammar ? { ...settings, grammar } : settings;
  } catch (error) {
    if (error instanceof ModelError && error.code === 'context_length_exceeded')
      counters.add('prompt_too_long');
    throw error;
  }
}

interface SampledCall {
  readonly prompt: Int32Array;
  readonly callIndex: number;
  readonly callable: readonly ToolDefinition[] | false;
}

/**
 * Creates a function that is called with sampled tokens and passes the turn so far to the listener.
 * Returns undefined if there is no listener.
 */
function listenerFor(
  { options: { format, sampler, toolCallSalt } }: Rollout,
  { onTurn, plain, sampling: { stop = [] } }: GenerateRequest,
  { prompt, callIndex, callable }: SampledCall,
): Parameters<typeof sampler.sample>[3] {
  if (!onTurn) return undefined;
  const isPlain = plain !== undefined;
  const readers = new Map<number, TurnReader>();
  return (choice, tokens) => {
    const reader =
      readers.get(choice) ?? format.beginTurn(prompt, { tools: callable, stops: stop, isPlain });
    readers.set(choice, reader);
    const { text, reasoning, toolCalls } = reader.push(tokens);
    onTurn(choice, {
      responseText: text,
      reasoningText: reasoning,
      toolCalls: toToolCalls(toolCalls, { format, callIndex, choice, toolCallSalt }),
    });
  };
}

/** Returns a turn whose response is the whole sampled text, up to the stop string. */
function plainTurn({ tokens, stopString }: SampledSequence, tokenizer: Tokenizer): ParsedTurn {
  const text = textBeforeStop(tokenizer, tokens, { skip: tokenizer.specialTokenIds, stopString });
  return { text, toolCalls: [], malformedToolCalls: 0 };
}

function record(
  { options, ledger, history, counters }: Rollout,
  prompt: LedgerPrompt,
  choices: readonly Choice[],
  { callIndex, time }: Pick<RecordedChoice, 'callIndex' | 'time'>,
): readonly RecordedChoice[] {
  for (const { response, sequence } of choices) {
    ledger.record(prompt, {
      message: toMessage(response),
      completion: sequence.tokens,
      truncated: sequence.stopReason === 'length',
      call: callIndex,
    });
  }
  const promptText = options.includePromptText
    ? options.format.tokenizer.decode(prompt.ids)
    : undefined;
  const { fork } = prompt;
  const recorded = choices.map(({ response }, choice) => ({
    callIndex,
    choice,
    response,
    time,
    promptText,
    fork,
  }));
  history.add(recorded);
  count(counters, prompt, choices);
  return recorded;
}

function count(counters: Counters, prompt: LedgerPrompt, choices: readonly Choice[]): void {
  counters.add('calls');
  counters.add('choices', choices.length);
  counters.add('prompt_tokens', prompt.ids.length);
  counters.add('reused_tokens', prompt.reused);
  if (prompt.outcome === 'spliced') counters.add('spliced');
  else if (prompt.outcome !== 'new') counters.add(`fork/${prompt.outcome}`);
  if (prompt.restored > 0) counters.add('reasoning_restored');
  if (prompt.replacedCalls > 0) counters.add('calls_replaced', prompt.replacedCalls);
  for (const { response, sequence, turn } of choices) {
    counters.add('response_tokens', sequence.tokens.length);
    counters.add('tool_calls', response.toolCalls.length);
    counters.add('malformed_tool_calls', turn.malformedToolCalls);
    counters.add('unread_tool_calls', turn.unreadToolCalls ?? 0);
    if (response.finishReason === 'length') counters.add('response_truncated');
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const reason: unknown = signal.reason;
  if (TrinityError.is(reason)) throw reason;
  throw new CancelledError(
    'The call was cancelled: its rollout has ended or its client has disconnected.',
    { code: 'CALL_ABORTED', reason: 'aborted', cause: reason },
  );
}
