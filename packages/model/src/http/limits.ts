import { defaultHttpLimits, type HttpLimits } from '@trinity-rft/http-server';

/**
 * Limits and timeouts of an endpoint server. The limits of request bodies are part of
 * `EndpointPolicy`.
 */
export interface EndpointLimits extends HttpLimits {
  /** Milliseconds for which the server remembers that a rollout has ended. @default 600_000 */
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
