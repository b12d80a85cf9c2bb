/** What the owner of an endpoint decides about its clients. */
import { ModelError } from '@trinity-rft/core';
import { refusal } from './request/invalid-request.js';

export interface EndpointPolicy {
  /**
   * Whether clients may ask for several choices with `n`. Each choice is an experience of its own;
   * only one of them can be the turn that the conversation goes on from. @default "allow"
   */
  readonly clientChoices?: 'allow' | 'refuse';
  /**
   * What a request is that equals one still being answered and does not say that it repeats it.
   * Agents that vote send equal requests side by side and want different answers; `join` gives them
   * one answer, for clients behind a proxy that keeps the connections of clients that have gone.
   * @default "sample"
   */
  readonly equalRequests?: 'sample' | 'join';
  /** Largest body of a request in bytes. @default 20_000_000 */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive, in ms. @default 60_000 */
  readonly bodyTimeoutMs?: number;
  /**
   * Signs of life while an answer takes long; the defaults stay below the 300 s after which Node's
   * fetch gives up.
   */
  readonly heartbeat?: Partial<Heartbeat>;
  /**
   * Seconds until calls are served again; then requests are answered with 429 and `Retry-After`.
   * @default calls wait for their turn
   */
  readonly pausedFor?: () => number | undefined;
}

export interface Heartbeat {
  /** Before the first one, in ms. Until then the status of the answer is open. @default 200_000 */
  readonly afterMs: number;
  /** Between two, in ms. @default 15_000 */
  readonly everyMs: number;
}

export const defaultHeartbeat: Heartbeat = { afterMs: 200_000, everyMs: 15_000 };
export const defaultMaxBodyBytes = 20_000_000;
export const defaultBodyTimeoutMs = 60_000;

/** @throws ModelError 400 when several choices are asked for and not allowed */
export function checkChoices({ clientChoices }: EndpointPolicy, n: number): void {
  if (n > 1 && clientChoices === 'refuse')
    throw refusal('n', `is ${n}`, '1: this endpoint gives one choice per call');
}

/** @throws ModelError 429 while calls are paused */
export function checkPause({
  pausedFor,
  book,
}: EndpointPolicy & { readonly book: { refused(): void } }): void {
  const seconds = pausedFor?.();
  if (seconds === undefined) return;
  book.refused();
  throw new ModelError(`The model is paused. Expected calls after ${seconds} s.`, {
    status: 429,
    code: 'paused',
    retryable: true,
    details: { retryAfter: Math.ceil(seconds) },
  });
}
