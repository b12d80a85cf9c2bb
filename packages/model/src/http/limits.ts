import { defaultHttpLimits, type HttpLimits } from '@trinity-rft/http-server';

/**
 * Limits and timeouts of an endpoint server. For the limits of request bodies, see
 * `EndpointPolicy`.
 */
export interface EndpointLimits extends HttpLimits {
  /**
   * Milliseconds for which the server remembers an ended rollout, to answer late calls with 409.
   * @default 600_000
   */
  readonly closedForMs: number;
  /** Maximum number of ended rollouts that the server remembers. @default 10_000 */
  readonly maxClosed: number;
  /** Maximum time in milliseconds that `close` waits for calls in flight. @default 5000 */
  readonly closeTimeoutMs: number;
}

export const defaultLimits: EndpointLimits = {
  ...defaultHttpLimits,
  closedForMs: 600_000,
  maxClosed: 10_000,
  closeTimeoutMs: 5000,
};
