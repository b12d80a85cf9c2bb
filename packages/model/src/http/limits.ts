/** What the endpoint's server allows, and for how long it waits. */

/** Of the server; how large a body may be is the handler's decision. */
export interface EndpointLimits {
  /** Until a connection has sent the headers of a request. @default 10_000 */
  readonly headersTimeoutMs: number;
  /**
   * Until a request has arrived whole. How long an answer may take is not limited.
   * @default 60_000
   */
  readonly requestTimeoutMs: number;
  /**
   * A connection without requests stays open this long; agents pause while their tools run.
   * @default 120_000
   */
  readonly keepAliveMs: number;
  /** Bytes of all headers of a request. @default 16_384 */
  readonly maxHeaderBytes: number;
  /**
   * Open at the same time; connections above it are closed, and idle ones with them.
   * @default 8192
   */
  readonly maxConnections: number;
  /**
   * How long, and of how many rollouts, it is remembered that they have ended.
   * @default 600_000 and 10_000
   */
  readonly closedForMs: number;
  readonly maxClosed: number;
  /** How long `close` waits for calls. @default 5000 */
  readonly closeTimeoutMs: number;
}

export const defaultLimits: EndpointLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 120_000,
  maxHeaderBytes: 16_384,
  maxConnections: 8192,
  closedForMs: 600_000,
  maxClosed: 10_000,
  closeTimeoutMs: 5000,
};
