/** Kinds of failed calls. Each kind is handled differently. */
export type FaultKind =
  /**
   * The server is down, or its scores are wrong. It is taken out of service, and the call is
   * repeated on another server.
   */
  | 'lost'
  /** The server closed a keep-alive connection without a response. It may have restarted. */
  | 'closed'
  /** The server asks the client to wait before the next call. */
  | 'busy'
  /** The server failed to handle this call, but may succeed at the next. */
  | 'broken'
  /** The server does not have the weights that the call needs. */
  | 'stale'
  /** The call is invalid on every server. */
  | 'refused';

interface FaultOptions {
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** Internal error of the package. The sampler's callers receive core's errors instead. */
export class ServerFault extends Error {
  readonly kind: FaultKind;
  readonly status: number | undefined;
  /** Time that the server asks the client to wait, in ms. */
  readonly retryAfterMs: number;

  constructor(
    kind: FaultKind,
    message: string,
    { status, retryAfterMs = 0, cause }: FaultOptions = {},
  ) {
    super(message, { cause });
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}
