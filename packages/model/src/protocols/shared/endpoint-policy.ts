/** Settings by which the owner of an endpoint controls its clients. */
import { invalidRequest } from '@trinity-rft/chat/internal';
import type { HeartbeatOptions } from './answer/delivery.js';
import type { BodyLimits } from './request/body.js';

export interface EndpointPolicy extends BodyLimits, HeartbeatOptions {
  /**
   * Decides if clients may request several choices with `n`. Each choice is a separate experience, but
   * the conversation can continue from only one of them.
   * @default "allow"
   */
  readonly clientChoices?: 'allow' | 'reject';
  /**
   * True if fields that this endpoint cannot follow are rejected instead of ignored.
   * @default false, so that agents under training keep running
   */
  readonly strictFields?: boolean;
  /**
   * `sampled` sends the text of a stream as it is sampled. `finished` sends it at once when the
   * answer is finished and recorded, which costs less, and is sufficient for agents without users
   * who read along.
   * @default "finished"
   */
  readonly streamText?: 'sampled' | 'finished';
  /**
   * Returns the number of seconds until calls are served again, undefined if they are served now.
   * While calls are paused, requests get 429 with `Retry-After`.
   * @default no call is rejected; calls wait until they can be served
   */
  readonly pausedFor?: () => number | undefined;
}

/** @throws ModelError 400 if several choices are requested but not allowed */
export function checkChoices({ clientChoices }: EndpointPolicy, n: number): void {
  if (n > 1 && clientChoices === 'reject')
    throw invalidRequest('n', `is ${n}`, '1: this endpoint gives one choice per call');
}
