/**
 * Spans of rollouts, model calls and tools, with OpenTelemetry's names for generative AI. Without
 * an SDK in the process, nothing is recorded and no attribute is computed.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */
import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api';
import { describeError } from '@trinity-rft/core';

export interface SpanOptions<T> {
  readonly name: string;
  readonly kind?: SpanKind;
  /** Attributes that are known from the start. */
  readonly attributes: () => Attributes;
  /** Attributes that are taken from the result. @default no attributes */
  readonly ended?: (result: T) => Attributes;
  /** Context of the parent span. @default the active context */
  readonly parent?: Context | undefined;
}

/**
 * Calls `work` within a span. If `work` rejects, the span gets the error, without stack and prompt.
 */
export async function inSpan<T>(options: SpanOptions<T>, work: () => Promise<T>): Promise<T> {
  const { name, kind = SpanKind.INTERNAL, attributes, ended, parent = context.active() } = options;
  // Each SDK of the operating-system process has its own tracer.
  const span = trace.getTracer('trinity-rft').startSpan(name, { kind }, parent);
  if (!span.isRecording()) return work();
  span.setAttributes(attributes());
  try {
    const result = await context.with(trace.setSpan(parent, span), work);
    if (ended) span.setAttributes(ended(result));
    return result;
  } catch (error) {
    noteError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function noteError(span: Span, error: unknown): void {
  span.setAttribute('error.type', errorType(error));
  span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) });
}

/** Records a failure in the active span, for work that returns its failure as a value. */
export function noteFailure(error: Error): void {
  const span = trace.getActiveSpan();
  if (span?.isRecording()) noteError(span, error);
}

/** Value of the attribute `error.type`: the error's code, or its class. */
export const errorType = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : error instanceof Error
      ? error.name
      : '_OTHER';

/** The parent context of new spans. */
export type TraceContext = Context;

export const activeContext = (): TraceContext => context.active();

/** Returns the active context if it has a span, otherwise `home`. */
export const contextOr = (home: TraceContext): TraceContext =>
  trace.getActiveSpan() === undefined ? home : context.active();

/** Calls `work` in the context of a request's `traceparent`, or in `home` without one. */
export function inRequestContext<T>(headers: Headers, home: TraceContext, work: () => T): T {
  const parent = headers.has('traceparent')
    ? propagation.extract(home, headers, {
        get: (from, key) => from.get(key) ?? undefined,
        keys: (from) => [...from.keys()],
      })
    : home;
  return context.with(parent, work);
}
