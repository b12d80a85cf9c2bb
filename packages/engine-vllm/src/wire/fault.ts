/** Kinds of failed calls, distinguished by how they are handled. */
export type FaultKind =
  /**
   * The server is down, or its scores are wrong. It is taken out of service, and the call is
   * repeated.
   */
  | 'lost'
  /** The server closed a keep-alive connection before it answered, so it may have restarted. */
  | 'closed'
  /** The server asks the client to pause. */
  | 'busy'
  /** The server failed at this call, but the next call may succeed. */
  | 'broken'
  /** The server no longer has the delivered weights. */
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
  /** Pause that the server asks for. */
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
