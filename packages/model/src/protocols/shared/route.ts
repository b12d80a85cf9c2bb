/** Shared by the routes of every protocol: their context, and how they answer. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { Runtime } from '@trinity-rft/core';
import type { Counters } from '../../rollout/counters.js';
import type { CountPrompt, Generate, GenerateRequest, Generation } from '../../rollout/generate.js';
import type { Answer } from './answer/answer.js';
import { deliver } from './answer/delivery.js';
import type { AnswerEncoding } from './answer/encodings.js';
import type { LiveAnswer } from './answer/live-answer.js';
import type { EndpointPolicy } from './endpoint-policy.js';
import type { RequestBody } from './request/body.js';
import type { Deliveries, RecordedCall, RequestDeduplication } from './request-deduplication.js';

/** The endpoint of one rollout. */
export interface RouteContext extends EndpointPolicy {
  readonly generate: Generate;
  readonly countPrompt: CountPrompt;
  readonly deduplication: RequestDeduplication;
  readonly deliveries: Deliveries;
  readonly counters: Counters;
  readonly modelPath: string;
  /** Further fields of the model where it is listed. */
  readonly modelEntry?: (() => Readonly<Record<string, string | number>>) | undefined;
  readonly tokenizer: Tokenizer;
  readonly clientSampling: 'override' | 'respect';
  readonly constrainedDecoding: boolean;
  readonly runtime: Pick<Runtime, 'clock' | 'logger' | 'newId'>;
  /** Messages that were logged already. */
  readonly notices: Set<string>;
  /** Awaited before the client gets anything of the answer. */
  readonly onAnswer: (id: string, generation: Generation) => void | Promise<void>;
}

/**
 * May reject; the handler turns the error into a response.
 * @param body of the request, where it has been read already
 */
export type Route<Context extends RouteContext = RouteContext> = (
  request: Request,
  context: Context,
  body: RequestBody | undefined,
) => Promise<Answer>;

/**
 * Answers a request that was read and found valid: generates once, delivers as often as the same
 * request is repeated.
 * @param digest of the request's body
 */
export function answerRequest<T extends RecordedCall, Head>(
  request: Request,
  digest: string,
  context: RouteContext,
  encoding: AnswerEncoding<T, Head>,
  generate: (signal: AbortSignal, live: LiveAnswer<Head>) => Promise<T>,
): Promise<Answer> {
  const key = `${new URL(request.url).pathname} ${digest}`;
  // Clients made with OpenAI's generator count their attempts.
  const isRetry = Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0;
  const incoming = { key, isRetry, signal: request.signal };
  return deliver(context.deduplication.answer(incoming, generate), encoding, context);
}

/** Passes turns on to the clients that read along; undefined where there are none. */
export const turnListener = (
  { stream }: { readonly stream: boolean },
  live: Pick<LiveAnswer<never>, 'update'>,
  { streamText }: EndpointPolicy,
): GenerateRequest['onTurn'] =>
  stream && streamText === 'sampled' ? (choice, turn) => live.update(choice, turn) : undefined;
