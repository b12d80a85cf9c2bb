/** Policy of an endpoint's owner for its clients. */
import { invalidRequest } from '@trinity-rft/chat/internal';
import type { HeartbeatOptions } from './answer/delivery.js';
import type { BodyLimits } from './request/body.js';

export interface EndpointPolicy extends BodyLimits, HeartbeatOptions {
  /**
   * True if clients may ask for several choices with `n`. Each choice is a separate experience,
   * but the conversation can continue from only one of them.
   * @default "allow"
   */
  readonly clientChoices?: 'allow' | 'reject';
  /**
   * Rejects fields of a request that this endpoint cannot follow, instead of ignoring them.
   * @default false: an agent that is trained keeps running
   */
  readonly strictFields?: boolean;
  /**
   * When the text of a stream is sent: as it is sampled, or all of it when it is finished and
   * recorded, which costs less and is what agents need whose users are not there.
   * @default "finished"
   */
  readonly streamText?: 'sampled' | 'finished';
  /**
   * Seconds until calls are served again; while it returns a number, requests get 429 with
   * `Retry-After`.
   * @default calls wait for their turn
   */
  readonly pausedFor?: () => number | undefined;
}

/** @throws ModelError 400 when several choices are asked for and not allowed */
export function checkChoices({ clientChoices }: EndpointPolicy, n: number): void {
  if (n > 1 && clientChoices === 'reject')
    throw invalidRequest('n', `is ${n}`, '1: this endpoint gives one choice per call');
}
