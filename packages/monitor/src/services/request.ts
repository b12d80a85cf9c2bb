/**
 * Sends an HTTP request to a tracking service, with a timeout. Failures become errors that say
 * whether a retry can succeed.
 */
import { describeError } from '@trinity-rft/core';
import { redactText, retryAfterMs, tryJson } from '@trinity-rft/core/support';
import { ServiceError, type ServiceProblem } from './service.js';

export interface ServiceRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  /** Request body. It is sent as JSON unless it is a string. */
  readonly body?: unknown;
  /** Status codes other than 2xx that count as success. @default [] */
  readonly accept?: readonly number[];
  readonly signal: AbortSignal;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed response body; undefined if the body is not JSON. */
  readonly json: unknown;
}

const deadlineMs = 15_000;
const longestAnswer = 300;

/**
 * Sends a request.
 * @throws ServiceError if the service cannot be reached, or responds with a status that is neither
 * 2xx nor in `accept`
 */
export async function request(url: string, options: ServiceRequest): Promise<ServiceAnswer> {
  const { method = 'POST', headers, body, accept = [], signal } = options;
  const response = await attempt(url, async () => {
    const answer = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body),
      // A redirect would send the key to another host.
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  });
  const { status, text } = response;
  if ((status < 200 || status > 299) && !accept.includes(status))
    throw new ServiceError(
      `${origin(url)} answered ${status}${text === '' ? '' : `: ${redactText(text.slice(0, longestAnswer))}`}`,
      {
        problem: problemOf(status),
        retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()),
      },
    );
  return { status, headers: response.headers, json: tryJson(text) };
}

async function attempt<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
    throw new ServiceError(`${origin(url)} could not be reached: ${describeError(inner)}`, {
      problem: 'unavailable',
      cause,
    });
  }
}

function problemOf(status: number): ServiceProblem {
  if (status === 401 || status === 403) return 'refused';
  if (status === 408 || status === 429 || status >= 500) return 'unavailable';
  return 'rejected';
}

/**
 * Returns the origin of a URL. Omits the path, which may contain private names, and the user
 * information, which may contain a password.
 */
function origin(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return 'the address';
  }
}

export const basicAuthorization = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/**
 * Returns a nested field of a response, or undefined if the response does not contain the field.
 */
export function pick(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined,
    value,
  );
}

/**
 * Returns a string field that the response must contain.
 * @throws ServiceError if the field is missing or empty
 */
export function need(value: unknown, url: string, ...keys: readonly string[]): string {
  const found = pick(value, ...keys);
  if (typeof found === 'string' && found !== '') return found;
  throw new ServiceError(
    `${origin(url)} answered without ${keys.join('.')}; is it the right address?`,
    { problem: 'rejected' },
  );
}
