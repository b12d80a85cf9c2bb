/**
 * The context that routes get, and the function with which the routes of all protocols send
 * responses.
 */
import type { InstructionRole, Tokenizer } from '@trinity-rft/chat';
import type { Runtime } from '@trinity-rft/core';
import { decodeSegment } from '@trinity-rft/http-server';
import type { Counters } from '../../rollout/counters.js';
import type { CountPrompt, GenerateRequest } from '../../rollout/generate.js';
import type { Answer } from './answer/answer.js';
import { deliver } from './answer/delivery.js';
import type { AnswerEncoding } from './answer/encodings.js';
import type { LiveAnswer } from './answer/live-answer.js';
import type { EndpointPolicy } from './endpoint-policy.js';
import type { GenerateAnswer } from './generate-answer.js';
import type { RequestBody } from './request/body.js';
import type { Deliveries, RecordedCall, RequestDeduplication } from './request-deduplication.js';

/** Parts of the endpoint of one rollout that its routes use. */
export interface RouteContext extends EndpointPolicy {
  readonly generateAnswer: GenerateAnswer;
  readonly countPrompt: CountPrompt;
  readonly deduplication: RequestDeduplication;
  readonly deliveries: Deliveries;
  readonly counters: Counters;
  readonly modelPath: string;
  /** Additional fields of the model's entry in the list of models. */
  readonly modelEntry?: (() => Readonly<Record<string, string | number>>) | undefined;
  readonly tokenizer: Tokenizer;
  /** Role of the message to which the endpoint's own instructions for the model are added. */
  readonly instructionRole: InstructionRole;
  /** True if an external model responds instead of the sampler. */
  readonly isExternal: boolean;
  readonly clientSampling: 'override' | 'respect';
  readonly constrainedDecoding: boolean;
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  /** Messages that have already been logged. */
  readonly notices: Set<string>;
}

/**
 * Handles the requests to one path. If it rejects, the endpoint converts the error to a response.
 * @param body body of the request, if it has already been read
 */
export type Route<Context extends RouteContext = RouteContext> = (
  request: Request,
  context: Context,
  body: RequestBody | undefined,
) => Promise<Answer>;

/**
 * Responds to a request that has been read and checked. Generates once: if a client retries the
 * request, the same response is delivered.
 * @param digest digest of the request body
 */
export function answerRequest<T extends RecordedCall, Head>(
  request: Request,
  digest: string,
  context: RouteContext,
  encoding: AnswerEncoding<T, Head>,
  generate: (signal: AbortSignal, live: LiveAnswer<Head>) => Promise<T>,
): Promise<Answer> {
  const key = `${new URL(request.url).pathname} ${digest}`;
  // The client libraries of OpenAI and Anthropic count their retries in this header.
  const isRetry = Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0;
  const incoming = { key, isRetry, signal: request.signal };
  return deliver(context.deduplication.answer(incoming, generate), encoding, context);
}

/**
 * Splits a path into its segments. The model name after `/v1/models/` is one segment, because it
 * may contain slashes. This does not apply if another `/v1/` follows, because the text before it is
 * then part of the path at which the handler is mounted.
 */
export const segmentsOf = (pathname: string): readonly string[] =>
  pathname
    .replace(/(?<!\/)\/+$/, '')
    .replace(/(?<=\/v1\/models\/)(?!.*\/v1\/).+/, (name) => name.replaceAll('/', '%2F'))
    .split('/');

/**
 * Returns the last segment of a request's path, URL-decoded. It is the id in `/v1/models/ID` or
 * `/v1/responses/ID`.
 */
export const lastSegment = ({ url }: Request): string =>
  decodeSegment(segmentsOf(new URL(url).pathname).at(-1) ?? '');

/**
 * Returns a listener that passes unfinished turns to clients that stream, or undefined if the
 * policy does not stream text while it is sampled.
 */
export const turnListener = (
  { stream }: { readonly stream: boolean },
  live: Pick<LiveAnswer<never>, 'update'>,
  { streamText }: EndpointPolicy,
): GenerateRequest['onTurn'] =>
  stream && streamText === 'sampled' ? (choice, turn) => live.update(choice, turn) : undefined;
