/** Records a span for each model call, and metrics of all model calls. */
import {
  metrics,
  SpanKind,
  type Attributes,
  type Histogram,
  type MeterProvider,
} from '@opentelemetry/api';
import { capturesContent } from './content.js';
import { contextOr, errorType, inSpan, serverAttributes, type TraceContext } from './spans.js';

interface ModelCall {
  readonly model: string;
  /** URL of the service that answers. @default undefined: the model is one of this project's */
  readonly server?: URL;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly seed?: number | undefined;
  /** Number of choices that the client requested. Undefined if the client did not specify it. */
  readonly n?: number | undefined;
  /** Messages as the client sent them. */
  readonly messages: readonly unknown[];
}

export interface ModelAnswer {
  /** Number of tokens; undefined if the service does not report it. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly stopReasons: readonly string[];
  /** Version of the weights. @default undefined: the model is never trained */
  readonly policyVersion?: number;
  readonly texts: readonly string[];
}

interface Instruments {
  readonly provider: MeterProvider;
  /** Histogram of the durations of model calls, in seconds. */
  readonly duration: Histogram;
  readonly tokens: Histogram;
}

let instruments: Instruments | undefined;

/**
 * Returns the metric instruments of the current SDK. They are looked up each time, because the SDK
 * may have been started after this module was loaded.
 */
function currentInstruments(): Instruments {
  const current = metrics.getMeterProvider();
  if (instruments?.provider === current) return instruments;
  const meter = current.getMeter('trinity-rft');
  instruments = {
    provider: current,
    duration: meter.createHistogram('gen_ai.client.operation.duration', { unit: 's' }),
    tokens: meter.createHistogram('gen_ai.client.token.usage', { unit: '{token}' }),
  };
  return instruments;
}

/**
 * Calls `work` within the span of a model call, and records the metrics of the call.
 * @param home context of the rollout, in which the span starts if no other span is active
 */
export async function inModelSpan<T>(
  call: ModelCall,
  home: TraceContext,
  answered: (result: T) => ModelAnswer,
  work: () => Promise<T>,
): Promise<T> {
  const common = {
    'gen_ai.operation.name': 'chat',
    // Most services are called in the format of OpenAI.
    'gen_ai.provider.name': call.server === undefined ? 'trinity-rft' : 'openai',
    'gen_ai.request.model': call.model,
    ...(call.server !== undefined && serverAttributes(call.server)),
  };
  const start = performance.now();
  const options = {
    name: `chat ${call.model}`,
    kind: SpanKind.CLIENT,
    parent: contextOr(home),
    attributes: () => ({ ...common, ...requestAttributes(call) }),
    ended: (result: T) => answerAttributes(answered(result)),
  };
  const { duration, tokens } = currentInstruments();
  const ended = (attributes: Attributes): void =>
    duration.record((performance.now() - start) / 1000, attributes);
  const result = await inSpan(options, work).catch((error: unknown) => {
    ended({ ...common, 'error.type': errorType(error) });
    throw error;
  });
  ended(common);
  const { inputTokens, outputTokens } = answered(result);
  for (const [type, count] of Object.entries({ input: inputTokens, output: outputTokens }))
    if (count !== undefined) tokens.record(count, { ...common, 'gen_ai.token.type': type });
  return result;
}

function requestAttributes({
  temperature,
  topP,
  topK,
  maxTokens,
  seed,
  n,
  messages,
}: ModelCall): Attributes {
  const known: Attributes = {
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.top_p': topP,
    'gen_ai.request.top_k': topK,
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.request.seed': seed,
    'gen_ai.request.choice.count': n,
  };
  return capturesContent()
    ? { ...known, 'gen_ai.input.messages': JSON.stringify(messages) }
    : known;
}

function answerAttributes(answer: ModelAnswer): Attributes {
  const { inputTokens, outputTokens, stopReasons, policyVersion, texts } = answer;
  const known: Attributes = {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.response.finish_reasons': [...stopReasons],
    'trinity.policy_version': policyVersion,
  };
  if (!capturesContent()) return known;
  const messages = texts.map((content, i) => ({
    role: 'assistant',
    parts: [{ type: 'text', content }],
    finish_reason: stopReasons[i],
  }));
  return { ...known, 'gen_ai.output.messages': JSON.stringify(messages) };
}
