/** Settings that the owner of an endpoint uses to control its clients. */
import { invalidRequest } from '@trinity-rft/chat/internal';
import type { DeliveryPolicy } from './answer/delivery.js';
import type { BodyLimits } from './request/body.js';

export interface EndpointPolicy extends BodyLimits, DeliveryPolicy {
  /**
   * Determines whether clients may request several choices with `n`. Each choice is a separate
   * experience, but the conversation can continue from only one choice.
   * @default "allow"
   */
  readonly clientChoices?: 'allow' | 'reject';
  /**
   * True to reject fields that this endpoint does not support, instead of ignoring them.
   * @default false, so that agents under training keep running
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
   * True if clients are independent, such as the users of a product, and may send equal requests. A
   * retry then gets a recorded response only if no client has received it.
   * @default false: equal requests come from one agent, so its retry joins or repeats an equal call
   */
  readonly independentClients?: boolean;
  /**
   * Returns the number of seconds until calls are served again, or undefined if they are served
   * now. While calls are paused, the response to a request is 429 with `Retry-After`.
   * @default no call is rejected; calls wait until they can be served
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
