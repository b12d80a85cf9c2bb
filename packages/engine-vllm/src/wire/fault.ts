/** Why a call to a server failed, by what can be done about it. */
export type FaultKind =
  /** It does not answer, or no longer works: another server may do it, and this one is brought back. */
  | 'lost'
  /** It closed a connection that was kept, before it answered: it is the same, or was started anew. */
  | 'closed'
  /** It asks to be left alone for a while. */
  | 'busy'
  /** It failed at this call; it may do better the next time. */
  | 'broken'
  /** It no longer has the weights that were delivered. */
  | 'stale'
  /** The call is wrong, for every server. */
  | 'refused';

interface FaultOptions {
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** Error inside the package: callers of the sampler get the errors of core. */
export class ServerFault extends Error {
  readonly kind: FaultKind;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FaultKind,
    message: string,
    { status, retryAfterMs, cause }: FaultOptions = {},
  ) {
    super(message, { cause });
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}
