/** Limits and deadlines of a server. */

/** Limits of bodies belong to the routes, see `readBytes`. */
export interface HttpLimits {
  /** How long a connection may take to send the headers of a request. @default 10_000 */
  readonly headersTimeoutMs: number;
  /**
   * How long a whole request may take to arrive. The time for an answer is not limited.
   * @default 60_000
   */
  readonly requestTimeoutMs: number;
  /**
   * How long a connection stays open without requests; agents pause while their tools run.
   * @default 120_000
   */
  readonly keepAliveMs: number;
  /** Bytes of all headers of a request. @default 16_384 */
  readonly maxHeaderBytes: number;
  /**
   * Open connections. Further ones are closed, and idle ones with them.
   * @default 8192
   */
  readonly maxConnections: number;
}

/** The limits of {@link openHttpServer} where its options name none. */
export const defaultHttpLimits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 120_000,
  maxHeaderBytes: 16_384,
  maxConnections: 8192,
};
