/** Limits and deadlines of a server. */

/** Limits that apply to all requests. The routes limit the bodies; see `readBytes`. */
export interface HttpLimits {
  /** Maximum time for sending the headers of a request, in ms. @default 10_000 */
  readonly headersTimeoutMs: number;
  /**
   * Maximum time for receiving a whole request, in ms. The time for a response is not limited.
   * @default 60_000
   */
  readonly requestTimeoutMs: number;
  /**
   * Time for which a connection stays open without requests, in ms. It is long, because agents
   * pause while their tools run.
   * @default 120_000
   */
  readonly keepAliveMs: number;
  /** Maximum size of all headers of a request, in bytes. @default 16_384 */
  readonly maxHeaderBytes: number;
  /**
   * Maximum number of open connections. Above this number, new connections are closed, and so are
   * idle connections.
   * @default 8192
   */
  readonly maxConnections: number;
}

/** Default limits of {@link openHttpServer}. */
export const defaultHttpLimits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 120_000,
  maxHeaderBytes: 16_384,
  maxConnections: 8192,
};
