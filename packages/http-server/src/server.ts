/**
 * HTTP server with limits, timeouts, handling of malformed requests, upgrades and shutdown. All
 * servers of this project use it.
 */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import { ConfigError, describeError, ModelError } from '@trinity-rft/core';
import { defaultHttpLimits, type HttpLimits } from './limits.js';

/**
 * Function that takes over the socket of an upgrade request. It need not handle `error` events of
 * the socket.
 */
export type Upgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface Bindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export interface HttpServerOptions {
  /**
   * Handles a request. If the server requires a key, the function must check it before it reads the
   * body with `readBytes`.
   */
  readonly fetch: (request: Request, bindings: Bindings) => Response | Promise<Response>;
  /**
   * Returns the response for an error, in the format of the server's protocol.
   * @param error error to report; the HTTP status of a ModelError is in `status`
   */
  readonly refuse: (error: unknown) => Response;
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** Port; 0 = any free port. @default 0 */
  readonly port?: number | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  /**
   * True to accept only requests whose host name is a loopback name and that do not come from a
   * page of another site, except for following its links. Protects a loopback server without a key
   * from web pages, including those whose domain resolves to this machine.
   * @default false: requests from any host and page are accepted
   */
  readonly loopbackOnly?: boolean;
  /**
   * Called before any other handling of a request. Returns true if it has responded to the request.
   */
  readonly intercept?: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;
  /**
   * Decides on an upgrade request. Returns the HTTP status with which it is refused, or the
   * function that takes over the socket.
   * @default undefined: upgrade requests are handled like other requests
   */
  readonly upgrade?: (request: Request) => number | Upgrade;
}

export interface HttpServer {
  /** URL of the server, `http://HOST:PORT`. */
  readonly url: string;
  /** Stops accepting requests, waits for `finished`, and then closes all connections. */
  close(finished?: Promise<unknown>): Promise<void>;
}

/**
 * Opens a server. Resolves when the server accepts connections.
 * @throws ConfigError `PORT_TAKEN` if the port cannot be used, or `HOST_EMPTY` if the host is
 * empty, because the operating system would then listen on every interface
 */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 0, intercept } = options;
  if (host === '')
    throw new ConfigError(
      'The address to listen on is empty. Expected one such as 127.0.0.1, or 0.0.0.0 for every interface of this machine.',
      { code: 'HOST_EMPTY' },
    );
  const limits = { ...defaultHttpLimits, ...options.limits };
  const listener = listenerOf(options);
  const server = createServer(nodeOptions(limits), (incoming, outgoing) => {
    if (intercept?.(incoming, outgoing)) return;
    // The listener never rejects: errors become responses.
    void listener(incoming, outgoing);
  });
  server.maxConnections = limits.maxConnections;
  server.on('drop', () => server.closeIdleConnections());
  const upgraded = new Set<Duplex>();
  if (options.upgrade) acceptUpgrades(server, options, upgraded);
  const actualPort = await listen(server, host, port);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`,
    close: async (finished) => {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await finished;
      for (const socket of upgraded) socket.destroy();
      server.closeAllConnections();
      await closed;
    },
  };
}

function nodeOptions(limits: HttpLimits): Parameters<typeof createServer>[0] & object {
  const shortestMs = Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs);
  return {
    headersTimeout: shortestMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Interval at which timeouts are checked.
    connectionsCheckingInterval: Math.min(5000, Math.max(50, Math.floor(shortestMs / 2))),
  };
}

function listenerOf({ fetch, refuse, loopbackOnly = false }: HttpServerOptions) {
  const answer = (request: Request, bindings: Bindings): Response | Promise<Response> => {
    if (loopbackOnly && !isOfThisMachine(request)) return refuse(foreign());
    return fetch(request, bindings);
  };
  return getRequestListener(answer as Parameters<typeof getRequestListener>[0], {
    // Host for HTTP/1.0 requests, which may not name one.
    hostname: '127.0.0.1',
    // Keeps the user's global Request and Response unchanged.
    overrideGlobalObjects: false,
    errorHandler: (cause) => refuse(cause instanceof RequestError ? malformed(cause) : cause),
  });
}

/** Creates the error for a request whose URL or Host header is malformed. */
const malformed = (cause: unknown): ModelError =>
  new ModelError(
    'The request line or its Host header is not valid. Expected a path and the host of the printed address. Use an HTTP client.',
    { status: 400, code: 'invalid_request', cause },
  );

const foreign = (): ModelError =>
  new ModelError(
    'The request names another host than this machine, or comes from a page of another site. Open the printed address.',
    { status: 403, code: 'foreign_host' },
  );

const loopbackHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;

function isOfThisMachine({ headers }: Request): boolean {
  const host = headers.get('host') ?? '';
  const origin = headers.get('origin');
  // Browsers send no Origin for images and scripts of a page.
  const isEmbedded =
    headers.get('sec-fetch-site') === 'cross-site' && headers.get('sec-fetch-mode') !== 'navigate';
  return loopbackHost.test(host) && !isEmbedded && (origin === null || origin === `http://${host}`);
}

function acceptUpgrades(
  server: Server,
  { upgrade, loopbackOnly = false }: HttpServerOptions,
  upgraded: Set<Duplex>,
): void {
  server.on('upgrade', (incoming, socket, head) => {
    // Node has removed its own listeners; without a listener, a connection reset would crash the
    // process.
    socket.on('error', () => socket.destroy());
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    const request = requestOf(incoming);
    const foreigner = loopbackOnly && request !== undefined && !isOfThisMachine(request);
    const next = request === undefined ? 400 : foreigner ? 403 : (upgrade?.(request) ?? 404);
    if (typeof next !== 'number') return next(incoming, socket, head);
    socket.write(`HTTP/1.1 ${next} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    (socket as Duplex & { destroySoon(): void }).destroySoon();
  });
}

/**
 * Converts a Node.js request to a web-standard request. Returns undefined if the URL or a header is
 * not valid.
 */
function requestOf({ url = '/', headers }: IncomingMessage): Request | undefined {
  try {
    const given = Object.entries(headers as OutgoingHttpHeaders).map(
      ([name, value]): [string, string] => [name, String(value)],
    );
    const address = url.startsWith('/') ? `http://${headers.host ?? '127.0.0.1'}${url}` : url;
    return new Request(address, { headers: given });
  } catch {
    return undefined;
  }
}

/** Starts listening. Returns the port, which the operating system chooses if `port` is 0. */
function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void => {
      const message = `The server cannot listen on ${host}:${port} (${describeError(cause)}). Expected a free port on an address of this machine. Choose another port, or 0 for any.`;
      reject(new ConfigError(message, { code: 'PORT_TAKEN', cause }));
    };
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
