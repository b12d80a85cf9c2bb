/** Limits and deadlines of a server. */

/**
 * Limits that apply to all requests. The size of bodies is limited by the routes; see `readBytes`.
 */
export interface HttpLimits {
  /** Maximum time for receiving the headers of a request, in ms. @default 10_000 */
  readonly headersTimeoutMs: number;
  /**
   * Maximum time for receiving a whole request, in ms. Does not limit the time for the response.
   * @default 60_000
   */
  readonly requestTimeoutMs: number;
  /**
   * Time after which a connection without requests is closed, in ms. It is long because agents
   * pause while their tools run. @default 120_000
   */
  readonly keepAliveMs: number;
  /** Maximum size of all headers of a request, in bytes. @default 16_384 */
  readonly maxHeaderBytes: number;
  /**
   * Maximum number of open connections. When it is exceeded, new connections and idle connections
   * are closed. @default 8192
   */
  readonly maxConnections: number;
}

/** Limits that {@link openHttpServer} applies by default. */
export const defaultHttpLimits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 120_000,
  maxHeaderBytes: 16_384,
  maxConnections: 8192,
};
