/**
 * Reads spans and their evaluations from OTLP JSON, and from the output of console and in-memory
 * exporters.
 */
import { parseJsonExactly } from '@trinity-rft/core/support';
import { isJson, type Json, type Score } from '../record/item.js';
import { readScores } from './source.js';

/** A span, or a log record that refers to a span by its ids. */
export interface Signal {
  readonly traceId: string;
  readonly spanId: string;
  /** Attributes named by OpenTelemetry's GenAI conventions, with those of the details event. */
  readonly attributes: Json;
  /** Scores of the span in evaluation events. */
  readonly scores: readonly Score[];
}

export interface Span extends Signal {
  readonly name: unknown;
  readonly parentId?: string;
  /** End time in nanoseconds. */
  readonly end: bigint;
  /** Error type or message of a span whose operation failed; undefined for other spans. */
  readonly failure: unknown;
}

export const isSpanRecord = (record: Json): boolean =>
  'resourceSpans' in record || 'resourceLogs' in record || isPlainSpan(record);

const isPlainSpan = (record: Json): boolean =>
  contextOf(record) !== undefined && isJson(record['attributes']);

/** Returns all spans and evaluation events of one record. */
export function readSignals(record: Json): readonly Signal[] {
  const spans = itemsIn(record, 'resourceSpans', 'scopeSpans', 'spans');
  const logs = itemsIn(record, 'resourceLogs', 'scopeLogs', 'logRecords');
  const plain = isPlainSpan(record) ? [record] : [];
  return [
    ...[...spans, ...plain].flatMap((span) => spanOf(span) ?? []),
    ...logs.flatMap((log) => eventOf(log) ?? []),
  ];
}

/**
 * Collects the innermost objects of three nested lists. In OTLP, these are the spans or logs of
 * each scope of each resource.
 */
function itemsIn(record: Json, ...keys: readonly string[]): readonly Json[] {
  return keys.reduce<readonly Json[]>(
    (found, key) =>
      found.flatMap((each) => {
        const list = each[key];
        return Array.isArray(list) ? list.filter(isJson) : [];
      }),
    [record],
  );
}

interface Context {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * Returns the trace id and span id, which are in the span or in its context. Some SDKs keep the
 * context in a private field. Python's names are in snake case.
 */
function contextOf(span: Json): Context | undefined {
  const { context: python } = span;
  if (isJson(python) && 'trace_id' in python)
    return contextOf({ traceId: python['trace_id'], id: python['span_id'] });
  const context = [span['spanContext'], span['_spanContext'], span].find(isJson) ?? span;
  const { traceId } = context;
  const spanId = context['spanId'] ?? context['id'];
  return typeof traceId === 'string' && typeof spanId === 'string' && traceId !== ''
    ? { traceId, spanId }
    : undefined;
}

function spanOf(span: Json): Span | undefined {
  const context = contextOf(span);
  if (context === undefined) return undefined;
  const { parentSpanContext: parent } = span;
  const parentId =
    span['parentSpanId'] ??
    span['parentId'] ??
    span['parent_id'] ??
    (isJson(parent) && parent['spanId']);
  const events = Array.isArray(span['events']) ? span['events'].filter(isJson) : [];
  return {
    ...context,
    name: span['name'],
    ...(typeof parentId === 'string' && parentId !== '' && { parentId }),
    end: endOf(span),
    failure: failureOf(span),
    attributes: Object.assign(genAiOf(span), ...events.filter(isDetails).map(genAiOf)) as Json,
    scores: events.flatMap(scoresOf),
  };
}

function failureOf(span: Json): unknown {
  const { 'error.type': type } = attributesOf(span);
  const status = isJson(span['status']) ? span['status'] : {};
  const code = status['code'] ?? status['status_code'];
  const isError = code === 2 || code === 'STATUS_CODE_ERROR' || code === 'ERROR';
  const message = status['message'] || status['description'] || 'its status is an error';
  return type ?? (isError ? message : undefined);
}

/**
 * Returns the evaluation or the messages of a span in a log record, or undefined if the log record
 * has neither.
 */
function eventOf(log: Json): Signal | undefined {
  const context = contextOf(log);
  const hasDetails = isDetails(log);
  if (context === undefined || (!isEvaluation(log) && !hasDetails)) return undefined;
  return { ...context, scores: scoresOf(log), attributes: hasDetails ? genAiOf(log) : {} };
}

const nameOf = (event: Json): unknown =>
  event['name'] ?? event['eventName'] ?? attributesOf(event)['event.name'];

const isEvaluation = (event: Json): boolean => nameOf(event) === 'gen_ai.evaluation.result';

function scoresOf(event: Json): readonly Score[] {
  if (!isEvaluation(event)) return [];
  const attributes = attributesOf(event);
  const { 'gen_ai.evaluation.name': name = 'score' } = attributes;
  return readScores([[String(name), attributes['gen_ai.evaluation.score.value']]]);
}

const isDetails = (event: Json): boolean =>
  nameOf(event) === 'gen_ai.client.inference.operation.details';

/** Returns the attributes named by the GenAI conventions. */
const genAiOf = (item: Json): Json =>
  Object.fromEntries(
    Object.entries(attributesOf(item)).filter(([name]) => name.startsWith('gen_ai.')),
  );

/**
 * Returns the attributes as an object. OTLP has a list of `{key, value: {stringValue}}`; SDKs have
 * an object.
 */
function attributesOf({ attributes }: Json): Json {
  if (isJson(attributes)) return attributes;
  if (!Array.isArray(attributes)) return {};
  return Object.fromEntries(
    attributes.filter(isJson).map(({ key, value }) => [String(key), plainValue(value)]),
  );
}

/** Converts OTLP's `AnyValue` to a plain value. */
function plainValue(value: unknown): unknown {
  if (!isJson(value)) return value;
  const { arrayValue: list, kvlistValue: entries } = value;
  if (isJson(list)) return Array.isArray(list['values']) ? list['values'].map(plainValue) : [];
  if (isJson(entries)) return attributesOf({ attributes: entries['values'] });
  const { intValue: int } = value;
  if (/^-?(?:0|[1-9]\d*)$/.test(String(int))) return parseJsonExactly(String(int));
  return int ?? value['stringValue'] ?? value['doubleValue'] ?? value['boolValue'];
}

/**
 * Returns the end time in nanoseconds since 1970. The span contains it as a string, as `[seconds,
 * nanoseconds]`, as a start and a duration in microseconds, or as an ISO time, of which
 * milliseconds are read.
 */
function endOf(span: Json): bigint {
  const { end_time: iso } = span;
  if (typeof iso === 'string') return wholeNumber(Date.parse(iso)) * 1_000_000n;
  const { endTimeUnixNano: nanoseconds, endTime: pair, timestamp, duration } = span;
  if (nanoseconds !== undefined) return wholeNumber(nanoseconds);
  if (Array.isArray(pair)) return wholeNumber(pair[0]) * 1_000_000_000n + wholeNumber(pair[1]);
  return (wholeNumber(timestamp) + wholeNumber(duration)) * 1000n;
}

/** Returns the value as an integer, or 0 if it is not a number. */
const wholeNumber = (value: unknown): bigint =>
  typeof value === 'number' && Number.isFinite(value)
    ? BigInt(Math.trunc(value))
    : typeof value === 'string' && /^\d+$/.test(value)
      ? BigInt(value)
      : 0n;
