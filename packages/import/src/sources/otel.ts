/**
 * Source of OpenTelemetry spans that follow the GenAI conventions. Each `invoke_agent` span becomes
 * one conversation, taken from the message history of its last `chat` span. If that failed, the
 * last one that did not fail is taken, unless its answer calls tools. The conventions are still in
 * development; this source uses the names of versions 1.37 to 1.45.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { parsed } from '../messages/json-text.js';
import { readMessage, readMessages } from '../messages/read-messages.js';
import { readTools } from '../messages/tool-calls.js';
import { asList, fault, orFault } from '../record/fault.js';
import { isPresent, type Conversation, type Json } from '../record/item.js';
import { meanScore, type Assembled, type Source } from './source.js';
import { isSpanRecord, readSignals, type Signal, type Span } from './otel-spans.js';

export const otel: Source = {
  looksFor: 'resourceSpans, resourceLogs, or spans with a trace id and attributes',
  detect: isSpanRecord,
  read: (record) => readSignals(record).map((part) => ({ group: part.traceId, part })),
  assemble: (parts) => assemble(parts as readonly Signal[]),
  mostOpen: 1000,
};

/** Names of operations that are model calls. */
const calls: ReadonlySet<unknown> = new Set(['chat', 'generate_content', 'text_completion']);

const operationOf = ({ attributes }: Span): unknown => attributes['gen_ai.operation.name'];

function assemble(signals: readonly Signal[]): readonly Assembled[] {
  const spans = new Map(
    signals.filter((signal): signal is Span => 'end' in signal).map((span) => [span.spanId, span]),
  );
  const chats = [...spans.values()].filter((span) => calls.has(operationOf(span)));
  const byAgent = Map.groupBy(chats, (span) => agentOf(span, spans));
  return [...byAgent].flatMap(([agent, ofAgent]) => {
    const ended = ofAgent.filter((span) => !hasFailed(span));
    const newest = newestOf(ofAgent);
    const last = ended.length > 0 ? newestOf(ended) : newest;
    const ids = new Set([agent, last.spanId]);
    const scores = signals
      .filter(({ spanId }) => ids.has(spanId))
      .flatMap((signal) => signal.scores);
    const taken = (span: Span): readonly Assembled[] =>
      asList(orFault(() => conversationsOf(span, meanScore(scores)))).map((item) => ({
        item,
        part: span,
      }));
    const items = taken(last);
    return hasFailed(newest) && items.some(callsTool) ? taken(newest) : items;
  });
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
 * Returns the id of the nearest `invoke_agent` span among the given span and its ancestors. If
 * there is none, returns the id of the topmost known ancestor.
 */
function agentOf(span: Span, spans: ReadonlyMap<string, Span>): string {
  let at = span;
  // Bounds the loop, because a damaged export may contain a cycle.
  for (let depth = 0; depth < spans.size; depth++) {
    if (operationOf(at) === 'invoke_agent') return at.spanId;
    const parent = at.parentId === undefined ? undefined : spans.get(at.parentId);
    if (parent === undefined) break;
    at = parent;
  }
  return at.spanId;
}

/** Returns one conversation per output message of the call. */
function conversationsOf(span: Span, score: Pick<Conversation, 'score'>): readonly Conversation[] {
  const { attributes, failure } = span;
  if (hasFailed(span)) throw fault('the call failed', failure);
  const input = attributeOf(attributes, 'gen_ai.input.messages');
  const output = attributeOf(attributes, 'gen_ai.output.messages');
  if (!isPresent(input) || !isPresent(output))
    throw fault('the span does not record its messages; turn the recording of content on');
  const instructions = attributeOf(attributes, 'gen_ai.system_instructions');
  const tools = readTools(attributeOf(attributes, 'gen_ai.tool.definitions'));
  if (!Array.isArray(output) || output.length === 0) throw fault('the span has no answer');
  return output.map((answer) => {
    const messages = readMessages([...systemOf(instructions), ...listOf(input), answer]);
    return { messages, ...(tools && { tools }), ...score };
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
