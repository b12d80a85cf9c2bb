/** Determines how a client reacts to an HTTP error status. */
import { tryJson } from '@trinity-rft/core/support';

/** Reaction of a client to an error status. */
export type ErrorAction =
  /** The result is not ready. The client polls again. */
  | 'poll-again'
  /** The server is busy or restarting. The client retries the request later. */
  | 'retry'
  /**
   * The server no longer has the session, model, checkpoint or result, for example after a restart.
   */
  | 'lost'
  /** The API key is missing or wrong, or lacks permission for the request. */
  | 'forbidden'
  /** The server's disk is full. */
  | 'full'
  /**
   * The server does not support the request, for example because its backend lacks the requested
   * loss.
   */
  | 'unsupported'
  /** The request is invalid, which is a client bug. */
  | 'invalid';

/** Kind of request: `submit` starts work, `future` fetches the result of that work. */
export type ErrorPlace = 'submit' | 'future';

const actions: Readonly<Record<number, ErrorAction>> = {
  401: 'forbidden',
  402: 'forbidden',
  403: 'forbidden',
  404: 'lost',
  409: 'invalid',
  410: 'lost',
  413: 'invalid',
  415: 'invalid',
  425: 'retry',
  429: 'retry',
};

/**
 * Returns the reaction to an error status. `detail` is the server's error message. Three cases are
 * special: a 422 may name a loss or key that the server lacks; a 400 on `future` is an error of the
 * server's backend; and TuFT reports a sequence conflict if it has already executed a repeated
 * request.
 */
export function actionFor(status: number, place: ErrorPlace, detail: string): ErrorAction {
  if (status === 409 && /sequence conflict/i.test(detail)) return 'lost';
  if (isDiskFull(detail)) return 'full';
  if (status === 408) return place === 'future' ? 'poll-again' : 'retry';
  if (status === 400) return place === 'future' ? refusedBy(detail) : 'invalid';
  if (status === 422) return isCapability(detail) ? 'unsupported' : 'invalid';
  return actions[status] ?? (status >= 500 ? 'retry' : 'invalid');
}

/** Returns true if an error message says that the disk is full, as operating systems word it. */
export const isDiskFull = (detail: string): boolean =>
  /no space left|ENOSPC|disk quota exceeded/i.test(detail);

/**
 * Returns `lost` for SkyRL's error about a model that existed before a restart, otherwise
 * `unsupported`.
 */
const refusedBy = (detail: string): ErrorAction =>
  /^Model \S+ not loaded/.test(detail) ? 'lost' : 'unsupported';

/**
 * Returns true for FastAPI's messages about a value that is not allowed, or about a setting that a
 * loss does not have.
 */
const isCapability = (detail: string): boolean =>
  /literal_error|loss_fn_config/.test(detail) || detail.startsWith('Unknown loss');

/**
 * Returns the error message in a response body: the string in `detail` (FastAPI), `error` or
 * `message`, otherwise the start of the body.
 */
export function errorDetail(body: string): string {
  const parsed = tryJson(body);
  if (typeof parsed !== 'object' || parsed === null) return body.slice(0, 500);
  const { detail, error, message } = parsed as Readonly<Record<string, unknown>>;
  const found = [detail, error, message].find((value) => value !== undefined && value !== null);
  if (found === undefined) return body.slice(0, 500);
  return typeof found === 'string' ? found : JSON.stringify(found).slice(0, 1000);
}
