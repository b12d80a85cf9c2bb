/** Cross-origin requests (CORS): decides which web pages may call the server from a browser. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Sets the CORS headers of a response. Returns true if the request was a preflight request, to
 * which it has then responded.
 */
export type Cors = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/** Seconds for which browsers may cache the response to a preflight request. */
const maxAge = '600';

/**
 * Creates the function that handles cross-origin requests.
 * @param origins allowed origins, such as `https://app.example`; `*` for all. If empty, browsers
 * block requests from pages of other origins
 */
export function createCors(origins: readonly string[]): Cors {
  const all = origins.includes('*');
  const allowed = new Set(origins.map((origin) => origin.replace(/\/+$/, '').toLowerCase()));
  return ({ method, headers }, outgoing) => {
    const { origin } = headers;
    if (allowed.size === 0 || origin === undefined) return false;
    const isAllowed = all || allowed.has(origin.toLowerCase());
    outgoing.setHeader('vary', 'Origin');
    if (isAllowed) {
      outgoing.setHeader('access-control-allow-origin', origin);
      outgoing.setHeader('access-control-expose-headers', 'retry-after, x-should-retry');
    }
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined)
      return false;
    if (isAllowed) {
      outgoing.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
      outgoing.setHeader(
        'access-control-allow-headers',
        headers['access-control-request-headers'] ?? '*',
      );
      outgoing.setHeader('access-control-max-age', maxAge);
    }
    outgoing.writeHead(204).end();
    return true;
  };
}
