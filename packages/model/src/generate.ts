/** The one path from messages to a recorded answer; the chat method and the endpoint both go through it. */
import { createLedger, normalizeMessages, type LedgerPrompt, type NormalMessage, type ParsedTurn } from '@trinity-rft/chat';
import {
  CancelledError,
  EngineError,
  ModelError,
  TrinityError,
  type ChatResponse,
  type FinishReason,
  type SampledSequence,
  type ToolCall,
} from '@trinity-rft/core';
import type { Counters } from './counters.js';
import type { History } from './history.js';
import type { RolloutModelOptions } from './options.js';
import { resolveSampling, type CallSampling } from './sampling.js';
import { normalizeTools } from './tools.js';

interface GenerateRequest {
  /** As the client sent them. */
  readonly messages: readonly unknown[];
  readonly tools?: readonly unknown[];
  /** Look for tool calls in the answer, if there are tools. */
  readonly parseTools: boolean;
  readonly sampling: CallSampling;
  readonly signal?: AbortSignal;
}

/** A finished and recorded call. */
export interface Generation {
  readonly promptIds: Int32Array;
  readonly choices: readonly Choice[];
}

/** @throws ModelError, CancelledError, EngineError */
export type Generate = (request: GenerateRequest) => Promise<Generation>;

interface Choice {
  readonly response: ChatResponse;
  readonly sequence: SampledSequence;
  readonly malformedToolCalls: number;
}

/** Nothing is recorded before the call has finished, and everything before the caller sees the answer. */
export function createGenerate(options: RolloutModelOptions, history: History, counters: Counters): Generate {
  const { sampler, format, defaults = {}, limits = {}, enableThinking } = options;
  const ledger = createLedger(format);
  let calls = 0;

  const sampling = (call: CallSampling, promptLength: number): ReturnType<typeof resolveSampling> => {
    const { stopTokenIds } = format;
    const context = { defaults, limits, promptLength, maxModelLen: sampler.maxModelLen, stopTokenIds, seed: options.seedFor(calls) };
    try {
      return resolveSampling(call, context);
    } catch (error) {
      if (error instanceof ModelError && error.code === 'context_length_exceeded') counters.add('prompt_too_long');
      throw error;
    }
  };

  const record = (callIndex: number, prompt: LedgerPrompt, choices: readonly Choice[]): void => {
    for (const { response, sequence } of choices) {
      ledger.record(prompt, { message: toMessage(response), completion: sequence.tokens, truncated: sequence.stopReason === 'length' });
    }
    const text = options.includePromptText ? { promptText: format.tokenizer.decode(prompt.ids) } : {};
    history.add(choices.map(({ response }, choice) => ({ callIndex, choice, response, ...text })));
    count(counters, prompt, choices);
  };

  return async (request) => {
    const signal = combine(options.signal, request.signal);
    throwIfAborted(signal);
    const tools = normalizeTools(request.tools);
    const prompt = ledger.prompt({
      messages: normalizeMessages(request.messages),
      ...(tools && { tools }),
      ...(enableThinking !== undefined && { enableThinking }),
    });
    const settings = sampling(request.sampling, prompt.ids.length);
    const callIndex = calls++;
    const sequences = await sampler.sample(prompt.ids, settings, signal);
    throwIfAborted(signal);
    const reading = { tools: request.parseTools && tools !== undefined };
    const choices = sequences.map((sequence, choice): Choice => {
      const { stopString } = sequence;
      const turn = format.readTurn(sequence.tokens, { ...reading, ...(stopString !== undefined && { stopString }) });
      const response = toResponse(prompt.ids, sequence, turn, settings.temperature, `call_${callIndex}_${choice}`);
      return { response, sequence, malformedToolCalls: turn.malformedToolCalls };
    });
    record(callIndex, prompt, choices);
    return { promptIds: prompt.ids, choices };
  };
}

/** Ids of tool calls derive from their place, so that equal runs have equal ids. */
function toResponse(
  promptIds: Int32Array,
  sequence: SampledSequence,
  turn: ParsedTurn,
  temperature: number,
  idPrefix: string,
): ChatResponse {
  const toolCalls = turn.toolCalls.map((call, k): ToolCall => ({ id: `${idPrefix}_${k}`, type: 'function', function: call }));
  const tokens = new Int32Array(promptIds.length + sequence.tokens.length);
  tokens.set(promptIds);
  tokens.set(sequence.tokens, promptIds.length);
  return {
    responseText: turn.text,
    ...(turn.reasoning !== undefined && { reasoningText: turn.reasoning }),
    toolCalls,
    tokens,
    promptLength: promptIds.length,
    logprobs: checkedLogprobs(sequence),
    finishReason: finishReason(sequence, toolCalls),
    policyVersion: sequence.policyVersion,
    temperature,
  };
}

/** A turn that was cut stays `length` even when it holds whole tool calls: nothing hides a truncation. */
function finishReason({ stopReason }: SampledSequence, toolCalls: readonly ToolCall[]): FinishReason {
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

function checkedLogprobs({ tokens, logprobs }: SampledSequence): Float32Array {
  if (tokens.length === 0 || logprobs.length !== tokens.length) {
    throw invalid(`${tokens.length} tokens with ${logprobs.length} log-probabilities`, 'at least one token and one number for each');
  }
  const bad = logprobs.find((value) => !Number.isFinite(value) || value > roundingNoise);
  if (bad !== undefined) throw invalid(`the log-probability ${bad}`, 'finite numbers of at most 0');
  return logprobs.some((value) => value > 0) ? logprobs.map((value) => Math.min(value, 0)) : logprobs;
}

function invalid(what: string, expected: string): EngineError {
  return new EngineError(`The sampler returned ${what}. Expected ${expected}. This is a fault of the engine, not of the workflow.`, {
    code: 'SAMPLE_INVALID',
  });
}

function count(counters: Counters, prompt: LedgerPrompt, choices: readonly Choice[]): void {
  counters.add('calls');
  counters.add('choices', choices.length);
  counters.add('prompt_tokens', prompt.ids.length);
  counters.add('reused_tokens', prompt.reused);
  if (prompt.outcome === 'spliced') counters.add('spliced');
  else if (prompt.outcome !== 'new') counters.add(`fork/${prompt.outcome}`);
  for (const { response, sequence, malformedToolCalls } of choices) {
    counters.add('response_tokens', sequence.tokens.length);
    counters.add('tool_calls', response.toolCalls.length);
    counters.add('malformed_tool_calls', malformedToolCalls);
    if (response.finishReason === 'length') counters.add('response_truncated');
  }
}

function combine(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const reason: unknown = signal.reason;
  if (TrinityError.is(reason)) throw reason;
  throw new CancelledError('The call was given up: its rollout has ended or its client has gone away.', {
    code: 'CALL_ABORTED',
    reason: 'aborted',
    cause: reason,
  });
}
