/** Limits and timeouts of the endpoint's server. */
import { defaultHttpLimits, type HttpLimits } from '@trinity-rft/http-server';

/** Limits of request bodies are part of the endpoint policy. */
export interface EndpointLimits extends HttpLimits {
  /** How long the server remembers that a rollout has ended. @default 600_000 */
  readonly closedForMs: number;
  /** How many ended rollouts the server remembers. @default 10_000 */
  readonly maxClosed: number;
  /** How long `close` waits for calls. @default 5000 */
  readonly closeTimeoutMs: number;
}

export const defaultLimits: EndpointLimits = {
  ...defaultHttpLimits,
  closedForMs: 600_000,
  maxClosed: 10_000,
  closeTimeoutMs: 5000,
};
