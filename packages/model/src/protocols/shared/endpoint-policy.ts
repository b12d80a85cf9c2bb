/** Settings with which the owner of an endpoint restricts what its clients can do. */
import type { DeliveryPolicy } from './answer/delivery.js';
import type { BodyLimits } from './request/body.js';

export interface EndpointPolicy extends BodyLimits, DeliveryPolicy {
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
}
