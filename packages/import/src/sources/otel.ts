/**
 * Source of OpenTelemetry spans that follow the GenAI conventions. Each `invoke_agent` span becomes
 * one conversation, taken from the message history of its last `chat` span. If that failed, the
 * last one that did not fail is taken, unless its answer calls tools. A `chat` span without an agent
 * becomes a conversation unless another one continues it. The conventions are still in development;
 * this source uses the names of versions 1.37 to 1.45.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { parsed } from '../messages/json-text.js';
import { readMessage, readMessages } from '../messages/read-messages.js';
import { readTools } from '../messages/tool-calls.js';
import { asList, fault, orFault } from '../record/fault.js';
import { isPresent, type Conversation, type Fault, type Json } from '../record/item.js';
import { withScores, type Assembled, type Source } from './source.js';
import { isSpanRecord, readSignals, type Signal, type Span } from './otel-spans.js';

export const otel: Source = {
  looksFor: 'resourceSpans, resourceLogs, or spans with a trace id and attributes',
  detect: isSpanRecord,
  read: (record) => {
    const signals = readSignals(record);
    if (signals.length === 0) throw fault(noSignals);
    return signals.map((part) => ({ group: part.traceId, part }));
  },
  assemble: (parts) => assemble(parts as readonly Signal[]),
  mostOpen: 1000,
};

const noSignals =
  'the record has no spans, evaluations or gen_ai.client.inference.operation.details (older events with messages are not read)';

/** Names of operations that are model calls. */
const calls: ReadonlySet<unknown> = new Set(['chat', 'generate_content', 'text_completion']);

const operationOf = ({ attributes }: Span): unknown => attributes['gen_ai.operation.name'];

function assemble(signals: readonly Signal[]): readonly Assembled[] {
  const parts = new Map(signals.filter(isSpan).map((span) => [span.spanId, span]));
  const spans = new Map(parts);
  for (const { spanId, attributes } of signals.filter((signal) => !isSpan(signal))) {
    const span = spans.get(spanId);
    if (span) spans.set(spanId, { ...span, attributes: { ...span.attributes, ...attributes } });
  }
  const chats = [...spans.values()].filter((span) => calls.has(operationOf(span)));
  if (chats.length === 0) return [{ item: noCall([...spans.values()]), part: signals[0] }];
  const bySpan = Map.groupBy(signals, ({ spanId }) => spanId);
  const taken = (span: Span): readonly Assembled[] => {
    const ids = new Set([topOf(span, spans).spanId, span.spanId]);
    const scores = [...ids].flatMap((id) => bySpan.get(id) ?? []).flatMap((one) => one.scores);
    return asList(orFault(() => conversationsOf(span))).map((item) => ({
      item: 'reason' in item ? item : withScores(item, scores),
      part: parts.get(span.spanId),
    }));
  };
  const byAgent = Map.groupBy(chats, (span) => {
    const top = topOf(span, spans);
    return isAgent(top) ? top.spanId : undefined;
  });
  return [...byAgent].flatMap(([agent, ofAgent]) => {
    if (agent === undefined) return notContinued(ofAgent, taken);
    const ended = ofAgent.filter((span) => !hasFailed(span));
    const newest = newestOf(ofAgent);
    const items = taken(ended.length > 0 ? newestOf(ended) : newest);
    return hasFailed(newest) && items.some(callsTool) ? taken(newest) : items;
  });
}

const isSpan = (signal: Signal): signal is Span => 'end' in signal;

const isAgent = (span: Span): boolean => operationOf(span) === 'invoke_agent';

/**
 * Converts the calls, without the answers that a longer call continues. In descending order, the
 * calls that begin with the text of another one come directly before it, so that each text is
 * compared with few others.
 */
function notContinued(
  chats: readonly Span[],
  taken: (span: Span) => readonly Assembled[],
): readonly Assembled[] {
  const items = new Map<Span, readonly Assembled[]>();
  /** The field `first` is the index of the first call that begins with the text of this one. */
  const kept: { readonly start: string; readonly first: number; readonly span: Span }[] = [];
  const all = chats.map((span) => ({ start: startOf(span), span }));
  const order = all.toSorted((a, b) => Number(a.start < b.start) - Number(a.start > b.start));
  for (const { start, span } of order) {
    let first = kept.length;
    while (kept[first - 1]?.start.startsWith(start)) first = kept[first - 1]!.first;
    const later = kept.slice(first).filter((one) => one.start.length > start.length);
    const found = taken(span).filter(
      (answer) => !later.some((one) => isContinued(answer, items.get(one.span) ?? [])),
    );
    if (found.length === 0) continue;
    items.set(span, found);
    kept.push({ start, first, span });
  }
  return chats.flatMap((span) => items.get(span) ?? []);
}

/**
 * Returns true if a call continues an answer to the beginning of its messages: its next message has
 * the same text. The arguments of tool calls are not compared, because histories may spell them in
 * another way. A call that failed or cannot be read continues only answers that call tools. One that
 * can be read stands for a beginning that failed.
 */
function isContinued(answer: Assembled, later: readonly Assembled[]): boolean {
  if (callsTool(answer)) return true;
  const messages = 'messages' in answer.item ? answer.item.messages : [];
  const last = messages.at(-1);
  return later.some(({ item }) => {
    const next = 'messages' in item ? item.messages[messages.length - 1] : undefined;
    return last === undefined
      ? 'messages' in item
      : next?.role === 'assistant' && JSON.stringify(next.content) === JSON.stringify(last.content);
  });
}

/** Returns the instructions and messages of a call as text, up to where further messages follow. */
function startOf({ attributes, spanId }: Span): string {
  const { 'gen_ai.system_instructions': system, 'gen_ai.input.messages': input } = attributes;
  const text = (typeof input === 'string' ? input : JSON.stringify(input ?? '')).trimEnd();
  // No text continues one that is cut off.
  const start = text.endsWith(']') ? text.slice(0, -1).trimEnd() : text + spanId;
  return JSON.stringify(system ?? '') + start;
}

/** Returns why a trace has no conversation. */
function noCall(spans: readonly Span[]): Fault {
  if (spans.length === 0) return { reason: 'the trace has evaluations or messages, but no spans' };
  return {
    reason:
      'no span has a gen_ai.operation.name of a model call, such as chat (AI SDK 5 and 6 and OpenInference record none); export with the GenAI conventions, such as AI SDK 7 with @ai-sdk/otel',
    detail: [...new Set(spans.map(({ name }) => String(name)))].join(', '),
  };
}

const newestOf = (spans: readonly Span[]): Span => spans.reduce((a, b) => (isLater(b, a) ? b : a));

/** Returns true if the conversation ends with a tool call. */
const callsTool = ({ item }: Assembled): boolean =>
  'messages' in item && item.messages.at(-1)?.tool_calls !== undefined;

/** Returns true for a call that failed before it had an answer. */
function hasFailed({ failure, attributes }: Span): boolean {
  const { 'gen_ai.output.messages': output } = attributes;
  return isPresent(failure) && /^(?:""|"?\[\]"?)$/.test(JSON.stringify(output ?? ''));
}

/**
 * Tolerance for comparing end times, in nanoseconds. SDKs round start times to milliseconds, so
 * calls may seem out of order.
 */
const clockError = 2_000_000n;

/**
 * Returns true if `span` ends later than `other`, or ends at about the same time and has a history
 * that is at least as long.
 */
function isLater(span: Span, other: Span): boolean {
  const gap = span.end - other.end;
  if (gap > clockError || gap < -clockError) return gap > 0n;
  return historyLength(span) >= historyLength(other);
}

const historyLength = ({ attributes }: Span): number => {
  const input = attributes['gen_ai.input.messages'];
  return typeof input === 'string' ? input.length : Array.isArray(input) ? input.length : 0;
};

/**
 * Returns the nearest `invoke_agent` span among the given span and its ancestors. If there is none,
 * returns the topmost known ancestor.
 */
function topOf(span: Span, spans: ReadonlyMap<string, Span>): Span {
  let at = span;
  // Bounds the loop, because a damaged export may contain a cycle.
  for (let depth = 0; depth < spans.size && !isAgent(at); depth++) {
    const parent = at.parentId === undefined ? undefined : spans.get(at.parentId);
    if (parent === undefined) break;
    at = parent;
  }
  return at;
}

/** Returns one conversation per output message of the call. */
function conversationsOf(span: Span): readonly Conversation[] {
  const { attributes, failure } = span;
  if (hasFailed(span)) throw fault('the call failed', failure);
  const input = attributeOf(attributes, 'gen_ai.input.messages');
  const output = attributeOf(attributes, 'gen_ai.output.messages');
  if (!isPresent(input) || !isPresent(output))
    throw fault(
      'the span has no gen_ai.input.messages and gen_ai.output.messages; record content, with conventions 1.37 or later',
    );
  const instructions = attributeOf(attributes, 'gen_ai.system_instructions');
  const tools = readTools(attributeOf(attributes, 'gen_ai.tool.definitions'));
  if (!Array.isArray(output) || output.length === 0) throw fault('the span has no answer');
  return output.map((answer) => {
    const messages = readMessages([...systemOf(instructions), ...listOf(input), answer]);
    return { messages, ...(tools && { tools }) };
  });
}

const attributeOf = (attributes: Json, name: string): unknown =>
  parsed(attributes[name], `the attribute ${name}`);

function listOf(input: unknown): readonly unknown[] {
  if (!Array.isArray(input)) throw fault('the input messages are not a list', input);
  return input;
}

/** Converts system instructions, which are a list of parts, to a system message. */
const systemOf = (instructions: unknown): readonly ChatMessage[] =>
  isPresent(instructions) ? readMessage({ role: 'system', content: instructions }) : [];
