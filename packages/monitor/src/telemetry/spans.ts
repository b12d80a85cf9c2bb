/**
 * Records spans of rollouts, model calls and tool calls, with the names that OpenTelemetry defines
 * for generative AI. If no SDK is running in the process, nothing is recorded and no attributes are
 * computed.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */
import {
  context,
  createNoopMeter,
  metrics,
  propagation,
  ProxyTracerProvider,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api';
import { describeError } from '@trinity-rft/core';

/** Returns true if an SDK that records spans is registered in the process. */
export function hasSdk(): boolean {
  const none = new ProxyTracerProvider().getDelegate();
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== none;
}

/** Returns true if an SDK that records metrics is registered in the process. */
export const hasMeter = (): boolean => metrics.getMeter('trinity-rft') !== createNoopMeter();

/** Returns the attributes that name the host and the port of a URL of `http` or `https`. */
export const serverAttributes = ({ hostname, port, protocol }: URL) => ({
  'server.address': hostname.replace(/^\[|\]$/g, ''),
  'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
});

export interface SpanOptions<T> {
  readonly name: string;
  readonly kind?: SpanKind;
  /** Returns the attributes that are known when the span starts. */
  readonly attributes: () => Attributes;
  /** Returns the attributes that are computed from the result. @default no attributes */
  readonly ended?: (result: T) => Attributes;
  /** Context that contains the parent span. @default the active context */
  readonly parent?: Context | undefined;
}

/**
 * Calls `work` within a span. If `work` rejects, its error is added to the span, without stack and
 * prompt.
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

/**
 * Adds an error to the active span. Used for work that returns its failure instead of throwing it.
 */
export function noteFailure(error: Error): void {
  const span = trace.getActiveSpan();
  if (span?.isRecording()) noteError(span, error);
}

/**
 * Returns the value of the attribute `error.type`: the code of the error or, without a code, the
 * name of its class.
 */
export const errorType = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : error instanceof Error
      ? error.name
      : '_OTHER';

/** OpenTelemetry context in which new spans are created. */
export type TraceContext = Context;

export const activeContext = (): TraceContext => context.active();

/** Returns the active context if it contains a span, otherwise `home`. */
export const contextOr = (home: TraceContext): TraceContext =>
  trace.getActiveSpan() === undefined ? home : context.active();

/**
 * Calls `work` in the context of the `traceparent` header of a request. Without this header, uses
 * the context `home`.
 */
export function inRequestContext<T>(headers: Headers, home: TraceContext, work: () => T): T {
  const parent = headers.has('traceparent')
    ? propagation.extract(home, headers, {
        get: (from, key) => from.get(key) ?? undefined,
        keys: (from) => [...from.keys()],
      })
    : home;
  return context.with(parent, work);
}
