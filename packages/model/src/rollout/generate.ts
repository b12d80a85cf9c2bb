/**
 * The one path from messages to a recorded answer; the chat method and the endpoint both go through
 * it.
 */
import {
  createLedger,
  normalizeMessages,
  type AnswerForm,
  type LedgerPrompt,
  type NormalMessage,
  type ParsedTurn,
  type Tokenizer,
} from '@trinity-rft/chat';
import {
  CancelledError,
  EngineError,
  ModelError,
  TrinityError,
  type ChatResponse,
  type FinishReason,
  type SampledSequence,
  type ToolCall,
  type ToolDefinition,
} from '@trinity-rft/core';
import type { Counters } from './counters.js';
import type { History, RecordedChoice } from './history.js';
import type { RolloutModelOptions } from '../recording-model.js';
import { resolveSampling, type CallSampling } from './sampling.js';
import { normalizeTools } from './tools.js';

interface GenerateRequest {
  /** As the client sent them. */
  readonly messages: readonly unknown[];
  /**
   * Text or ids to go on from, as they are: no messages, no template, nothing is read into the
   * answer.
   */
  readonly plain?: string | Int32Array;
  readonly tools?: readonly unknown[];
  /** Look for tool calls in the answer, if there are tools. */
  readonly parseTools: boolean;
  readonly sampling: CallSampling;
  /**
   * What was asked for of the answer's form; `constrainedDecoding` decides whether it is enforced.
   */
  readonly form?: Omit<AnswerForm, 'tools'>;
  /** Aborts at the end of the rollout too. */
  readonly signal?: AbortSignal;
}

/** A finished and recorded call. */
export interface Generation {
  /** Counts the calls of the rollout from 0, failed ones included. */
  readonly callIndex: number;
  readonly promptIds: Int32Array;
  readonly choices: readonly Choice[];
  /** As they went into the history. */
  readonly recorded: readonly RecordedChoice[];
}

/** @throws ModelError, CancelledError, EngineError */
export type Generate = (request: GenerateRequest) => Promise<Generation>;

interface Choice {
  readonly response: ChatResponse;
  readonly sequence: SampledSequence;
  readonly malformedToolCalls: number;
}

/**
 * Nothing is recorded before the call has finished, and everything before the caller sees the
 * answer.
 */
export function createGenerate(
  options: RolloutModelOptions,
  history: History,
  counters: Counters,
): Generate {
  const { sampler, format, defaults = {}, limits = {}, enableThinking } = options;
  const ledger = createLedger(format, { reasoning: options.reasoning ?? 'as-sent' });
  let calls = 0;

  const sampling = (
    call: CallSampling,
    promptLength: number,
  ): ReturnType<typeof resolveSampling> => {
    const { stopTokenIds } = format;
    const context = {
      defaults,
      limits,
      promptLength,
      maxModelLen: sampler.maxModelLen,
      stopTokenIds,
      seed: options.seedFor(calls),
    };
    try {
      return resolveSampling(call, context);
    } catch (error) {
      if (error instanceof ModelError && error.code === 'context_length_exceeded')
        counters.add('prompt_too_long');
      throw error;
    }
  };

  const record = (
    callIndex: number,
    prompt: LedgerPrompt,
    choices: readonly Choice[],
  ): readonly RecordedChoice[] => {
    for (const { response, sequence } of choices) {
      ledger.record(prompt, {
        message: toMessage(response),
        completion: sequence.tokens,
        truncated: sequence.stopReason === 'length',
        call: callIndex,
      });
    }
    const text = options.includePromptText
      ? { promptText: format.tokenizer.decode(prompt.ids) }
      : {};
    const fork = prompt.fork && { fork: prompt.fork };
    const recorded = choices.map(({ response }, choice) => ({
      callIndex,
      choice,
      response,
      ...text,
      ...fork,
    }));
    history.add(recorded);
    count(counters, prompt, choices);
    return recorded;
  };

  const promptFor = (
    { messages: given, plain }: GenerateRequest,
    tools: readonly ToolDefinition[] | undefined,
  ): LedgerPrompt => {
    if (plain !== undefined) return plainPrompt(plain, format.tokenizer);
    const messages = normalizeMessages(given);
    for (const callIndex of calledBy(messages)) history.refer(callIndex);
    const prompt = ledger.prompt({
      messages,
      ...(tools && { tools }),
      ...(enableThinking !== undefined && { enableThinking }),
    });
    if (prompt.continues !== undefined) history.refer(prompt.continues);
    return prompt;
  };

  return async (request) => {
    const { signal } = request;
    throwIfAborted(signal);
    const tools = normalizeTools(request.tools);
    const prompt = promptFor(request, tools);
    const grammar =
      options.constrainedDecoding && request.form
        ? format.constrain({ ...request.form, ...(tools && { tools }) }, prompt.ids)
        : undefined;
    const settings = {
      ...sampling(request.sampling, prompt.ids.length),
      ...(grammar && { grammar }),
    };
    const callIndex = calls++;
    const sequences = await sampler.sample(prompt.ids, settings, signal);
    throwIfAborted(signal);
    const { temperature, stopTokenIds = [] } = settings;
    const reading = { tools: request.parseTools && tools !== undefined };
    const choices = sequences.map((sequence, choice): Choice => {
      const { stopString } = sequence;
      const options = { ...reading, ...(stopString !== undefined && { stopString }) };
      const turn =
        request.plain === undefined
          ? format.readTurn(sequence.tokens, options)
          : plainTurn(sequence, format.tokenizer);
      const response = toResponse(prompt.ids, sequence, turn, {
        temperature,
        stopTokenIds,
        idPrefix: `call_${callIndex}_${choice}`,
      });
      return { response, sequence, malformedToolCalls: turn.malformedToolCalls };
    });
    const recorded = record(callIndex, prompt, choices);
    return { callIndex, promptIds: prompt.ids, choices, recorded };
  };
}

function plainPrompt(plain: string | Int32Array, tokenizer: Tokenizer): LedgerPrompt {
  return {
    ids: typeof plain === 'string' ? tokenizer.encode(plain) : plain,
    reused: 0,
    outcome: 'new',
    restored: 0,
    replacedArguments: 0,
  };
}

/** All of the text, up to the stop string. */
function plainTurn({ tokens, stopString }: SampledSequence, tokenizer: Tokenizer): ParsedTurn {
  const whole = tokenizer.decode(tokens, { skip: tokenizer.specialTokenIds });
  const end = stopString === undefined ? -1 : whole.lastIndexOf(stopString);
  return { text: end < 0 ? whole : whole.slice(0, end), toolCalls: [], malformedToolCalls: 0 };
}

/**
 * Calls whose answers the conversation holds, known by the ids of their tool calls: see
 * {@link toResponse}.
 */
function calledBy(messages: readonly NormalMessage[]): readonly number[] {
  const ids = messages.flatMap((message) => message.tool_calls?.map(({ id }) => id) ?? []);
  return ids.flatMap((id) => /^call_(\d+)_\d+_\d+$/.exec(id)?.slice(1, 2) ?? []).map(Number);
}

/** Ids of tool calls derive from their place, so that equal runs have equal ids. */
function toResponse(
  promptIds: Int32Array,
  sequence: SampledSequence,
  turn: ParsedTurn,
  {
    temperature,
    stopTokenIds,
    idPrefix,
  }: {
    readonly temperature: number;
    readonly stopTokenIds: readonly number[];
    readonly idPrefix: string;
  },
): ChatResponse {
  const toolCalls = turn.toolCalls.map((call, k): ToolCall => ({
    id: `${idPrefix}_${k}`,
    type: 'function',
    function: call,
  }));
  const tokens = new Int32Array(promptIds.length + sequence.tokens.length);
  tokens.set(promptIds);
  tokens.set(sequence.tokens, promptIds.length);
  return {
    responseText: turn.text,
    ...(turn.reasoning !== undefined && { reasoningText: turn.reasoning }),
    toolCalls,
    tokens,
    promptLength: promptIds.length,
    logprobs: checkedLogprobs(sequence, stopTokenIds),
    finishReason: finishReason(sequence, toolCalls),
    policyVersion: sequence.policyVersion,
    temperature,
  };
}

/**
 * A turn that was cut stays `length` even when it holds whole tool calls: nothing hides a
 * truncation.
 */
function finishReason(
  { stopReason }: SampledSequence,
  toolCalls: readonly ToolCall[],
): FinishReason {
  if (stopReason === 'length') return 'length';
  return toolCalls.length > 0 ? 'tool_calls' : 'stop';
}

function toMessage({ responseText, reasoningText, toolCalls }: ChatResponse): NormalMessage {
  return {
    role: 'assistant',
    content: responseText,
    ...(reasoningText !== undefined && { reasoning_content: reasoningText }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}

/** Rounding of float32 softmax can put the logarithm of a certain token this far above 0. */
const roundingNoise = 1e-4;

/**
 * What every record rests on. That ids belong to the vocabulary of the weights is checked where
 * these are known: by the engine.
 */
function checkedLogprobs(
  { tokens, logprobs, stopReason, stopString }: SampledSequence,
  stopTokenIds: readonly number[],
): Float32Array {
  if (tokens.length === 0 || logprobs.length !== tokens.length) {
    throw invalid(
      `${tokens.length} tokens with ${logprobs.length} log-probabilities`,
      'at least one token and one number for each',
    );
  }
  let positive = false;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    const value = logprobs[i]!;
    if (token < 0) throw invalid(`the token id ${token}`, 'ids of at least 0');
    if (!Number.isFinite(value) || value > roundingNoise)
      throw invalid(`the log-probability ${value}`, 'finite numbers of at most 0');
    positive ||= value > 0;
  }
  const last = tokens.at(-1)!;
  if (stopReason === 'stop' && stopString === undefined && !stopTokenIds.includes(last)) {
    throw invalid(
      `a finished answer that ends in token ${last}`,
      `one of the stop tokens ${stopTokenIds.join(', ')} at its end`,
    );
  }
  return positive ? logprobs.map((value) => Math.min(value, 0)) : logprobs;
}

function invalid(what: string, expected: string): EngineError {
  return new EngineError(
    `The sampler returned ${what}. Expected ${expected}. This is a fault of the engine, not of the workflow.`,
    {
      code: 'SAMPLE_INVALID',
    },
  );
}

function count(counters: Counters, prompt: LedgerPrompt, choices: readonly Choice[]): void {
  counters.add('calls');
  counters.add('choices', choices.length);
  counters.add('prompt_tokens', prompt.ids.length);
  counters.add('reused_tokens', prompt.reused);
  if (prompt.outcome === 'spliced') counters.add('spliced');
  else if (prompt.outcome !== 'new') counters.add(`fork/${prompt.outcome}`);
  if (prompt.restored > 0) counters.add('reasoning_restored');
  if (prompt.replacedArguments > 0) counters.add('arguments_replaced', prompt.replacedArguments);
  for (const { response, sequence, malformedToolCalls } of choices) {
    counters.add('response_tokens', sequence.tokens.length);
    counters.add('tool_calls', response.toolCalls.length);
    counters.add('malformed_tool_calls', malformedToolCalls);
    if (response.finishReason === 'length') counters.add('response_truncated');
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const reason: unknown = signal.reason;
  if (TrinityError.is(reason)) throw reason;
  throw new CancelledError(
    'The call was given up: its rollout has ended or its client has gone away.',
    {
      code: 'CALL_ABORTED',
      reason: 'aborted',
      cause: reason,
    },
  );
}
