/** Settings with which the owner of an endpoint restricts what its clients can do. */
import { invalidRequest } from '@trinity-rft/chat/internal';
import type { DeliveryPolicy } from './answer/delivery.js';
import type { BodyLimits } from './request/body.js';

export interface EndpointPolicy extends BodyLimits, DeliveryPolicy {
  /**
   * Determines whether clients may request several choices with `n`. Each choice becomes a separate
   * experience, and only one of them can be continued in the conversation.
   * @default "allow"
   */
  readonly clientChoices?: 'allow' | 'reject';
  /**
   * True to reject requests with fields that this endpoint does not support. False to ignore the
   * fields, so that agents under training keep running.
   * @default false
   */
  readonly strictFields?: boolean;
  /**
   * `sampled` streams text as it is sampled. `finished` sends the whole text when the response is
   * finished and recorded. This costs less, and is sufficient for agents whose users do not read
   * the text while it is generated.
   * @default "finished"
   */
  readonly streamText?: 'sampled' | 'finished';
  /**
   * True if the clients are independent of each other, such as the users of a product. Each request
   * then gets its own response, even if it equals another request or is a retry. If false, all
   * requests come from one agent, so that the retry of a request joins or repeats the equal call.
   * @default false
   */
  readonly independentClients?: boolean;
  /**
   * Returns the number of seconds until calls are served again, or undefined if calls are served
   * now. If it returns a number, the request is rejected with 429 and `Retry-After`.
   * @default no pause; calls wait until they can be served
   */
  readonly pausedFor?: () => number | undefined;
}

/**
 * Checks the number of choices.
 * @throws ModelError 400 if several choices are requested but not allowed
 */
export function checkChoices({ clientChoices }: EndpointPolicy, n: number): void {
  if (n > 1 && clientChoices === 'reject')
    throw invalidRequest('n', `is ${n}`, '1: this endpoint gives one choice per call');
}
