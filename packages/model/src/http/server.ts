/**
 * The recording endpoint on loopback HTTP: one server, an address and a secret key for each
 * rollout.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { CancelledError, ModelError, type Runtime } from '@trinity-rft/core';
import { Hono } from 'hono';
import {
  isWhole,
  toResponse,
  type AnswerHandler,
  type WholeAnswer,
} from '../protocols/shared/answer/answer.js';
import { errorResponse } from '../protocols/shared/answer/errors.js';
import { digestOf, keysOf, newKey, newRolloutId } from './keys.js';
import { defaultLimits, type EndpointLimits } from './limits.js';
import { contextPath, createRouteTable, unauthorized, type RouteTable } from './rollout-routes.js';
import { createTraffic, type Traffic } from './traffic.js';

export interface EndpointServerOptions {
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** 0 = any that is free. @default 0 */
  readonly port?: number;
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>;
  readonly limits?: Partial<EndpointLimits>;
}

export interface MountOptions {
  /** Stands in the address: letters, digits, `-`, `_`. @default a random one */
  readonly rollout?: string;
  /** Never rejects. Its requests have passed the check of their key. */
  readonly handler: AnswerHandler;
  /** Opens the rollout. @default a random one */
  readonly apiKey?: string;
  /** `GET /metrics` with the rollout's key is the handler's. @default false: it is refused */
  readonly ownMetrics?: boolean;
  /** Unmounts. */
  readonly signal?: AbortSignal;
}

/** The address of one rollout. */
export interface EndpointMount {
  /** `http://HOST:PORT/r/<rollout>/v1` */
  readonly baseURL: string;
  /** Void once the rollout is unmounted: 409 for a while, then 401. */
  readonly apiKey: string;
  /** The same endpoint without a socket, with the same check of the key. */
  readonly fetch: typeof globalThis.fetch;
  unmount(): void;
}

export interface EndpointServer {
  /** `http://HOST:PORT` */
  readonly url: string;
  /**
   * For clients that were made outside of any rollout: answers with what to do, see
   * `rolloutContext`. Ends in `/v1`.
   */
  readonly contextURL: string;
  /** Opens `GET /metrics`. */
  readonly adminKey: string;
  /**
   * @throws InvariantError when the rollout is mounted, CancelledError when its signal has aborted
   * or the server is closed
   */
  mount(options: MountOptions): EndpointMount;
  /**
   * Ends all rollouts, waits for calls up to the limit, then closes their connections and says
   * which ones it waited for.
   */
  close(): Promise<void>;
}

/**
 * Serves until it is closed. `GET /health` is for everybody, `GET /metrics` with `adminKey` is
 * about the server, everything else needs the key of a rollout, under any path. Keys come from the
 * machine's randomness and are in no log.
 * @throws ModelError 503 when the port cannot be had
 */
export async function openEndpointServer(options: EndpointServerOptions): Promise<EndpointServer> {
  const { host = '127.0.0.1', port = 0, runtime } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const table = createRouteTable({ clock: runtime.clock, ...limits });
  const traffic = createTraffic();
  const adminKey = newKey('ak');
  const server = createHttpServer(createApp(table, traffic, adminKey), limits);
  const url = `http://${host}:${await listen(server, host, port)}`;
  const closers = new Set<() => void>();
  let closed = false;

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const response = await dispatch(request, table, traffic);
    // As with the global fetch, an aborted request has no response.
    request.signal.throwIfAborted();
    return response;
  };

  return {
    url,
    contextURL: `${url}${contextPath}`,
    adminKey,
    mount: ({ rollout = newRolloutId(), handler, apiKey: chosen, ownMetrics = false, signal }) => {
      if (closed)
        throw new CancelledError('The endpoint is closed: nothing can be mounted on it any more.', {
          reason: 'shutdown',
        });
      if (signal?.aborted)
        throw new CancelledError('The rollout has ended before it was mounted.', {
          reason: 'aborted',
          cause: signal.reason,
        });
      const { apiKey, close } = table.open({ rollout, handler, ownMetrics }, chosen);
      const unmount = (): void => {
        close();
        closers.delete(unmount);
        signal?.removeEventListener('abort', unmount);
      };
      closers.add(unmount);
      signal?.addEventListener('abort', unmount);
      return { baseURL: `${url}/r/${rollout}/v1`, apiKey, fetch, unmount };
    },
    close: async () => {
      closed = true;
      for (const unmount of closers) unmount();
      await closeServer(server, traffic, { runtime, timeoutMs: limits.closeTimeoutMs });
    },
  };
}

function createApp(
  table: RouteTable,
  traffic: Traffic,
  adminKey: string,
): Hono<{ Bindings: HttpBindings }> {
  const adminDigest = digestOf(adminKey);
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get('/health', () => Response.json({ status: 'ok' }));
  app.get('/metrics', ({ req, env }) => {
    const [key] = keysOf(req.raw);
    if (key !== undefined && table.ownsMetrics(key))
      return dispatch(req.raw, table, traffic, env.outgoing as ServerResponse);
    if (key === undefined || digestOf(key) !== adminDigest) {
      return refuse(
        unauthorized(
          'The numbers of the server need its own key. Expected its adminKey in Authorization: Bearer. Ask whoever opened the server.',
        ),
        traffic,
      );
    }
    return Response.json({ open_rollouts: table.size, ...traffic.report() });
  });
  app.all('*', ({ req, env }) => dispatch(req.raw, table, traffic, env.outgoing as ServerResponse));
  return app;
}

/**
 * Checks the key, then hands the request over. A call is in flight until its connection has all of
 * the answer.
 */
async function dispatch(
  request: Request,
  table: RouteTable,
  traffic: Traffic,
  outgoing?: ServerResponse,
): Promise<Response> {
  let route;
  try {
    route = table.find(request);
  } catch (error) {
    return refuse(error, traffic);
  }
  const end = traffic.begin(route.rollout);
  outgoing?.once('close', end);
  try {
    const answer = await route.handler(request);
    traffic.answered(answer.status);
    return outgoing && isWhole(answer) ? write(answer, outgoing) : toResponse(answer);
  } finally {
    if (!outgoing) end();
  }
}

/** In one write. A Response is left to the adapter, which writes it piece by piece. */
function write(answer: WholeAnswer, outgoing: ServerResponse): Response {
  if (outgoing.destroyed) answer.lost();
  else {
    answer.delivered();
    outgoing.writeHead(answer.status, answer.headers).end(answer.text);
  }
  return RESPONSE_ALREADY_SENT;
}

/** Clients that repeat failed calls by themselves are told not to. */
function refuse(error: unknown, traffic: Traffic): Response {
  const response = errorResponse(error);
  response.headers.set('x-should-retry', 'false');
  traffic.answered(response.status);
  return response;
}

function createHttpServer(app: Hono<{ Bindings: HttpBindings }>, limits: EndpointLimits): Server {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveMs, maxHeaderBytes, maxConnections } =
    limits;
  const listener = getRequestListener(app.fetch as Parameters<typeof getRequestListener>[0], {
    // For HTTP/1.0, which names no host.
    hostname: '127.0.0.1',
    // The process belongs to the user: its Request and Response stay what they are.
    overrideGlobalObjects: false,
    errorHandler: (cause) => errorResponse(malformed(cause)),
  });
  const server = createServer(
    {
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // How often deadlines are looked at.
      connectionsCheckingInterval: Math.min(
        5000,
        Math.max(50, Math.floor(Math.min(headersTimeoutMs, requestTimeoutMs) / 2)),
      ),
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.maxConnections = maxConnections;
  server.on('drop', () => server.closeIdleConnections());
  return server;
}

/** What cannot become a Request, by its address or its Host header. */
function malformed(cause: unknown): ModelError {
  return new ModelError(
    'The request line or its Host header is not valid. Expected a path and the host of baseURL. Use an HTTP client.',
    {
      status: 400,
      code: 'invalid_request',
      cause,
    },
  );
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void => {
      const message = `The endpoint cannot listen on ${host}:${port}. Expected a free port on an address of this machine. Choose another port, or 0 for any.`;
      reject(new ModelError(message, { status: 503, code: 'ENDPOINT_NOT_OPEN', cause }));
    };
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve((server.address() as { readonly port: number }).port);
    });
  });
}

interface CloseOptions {
  readonly runtime: EndpointServerOptions['runtime'];
  readonly timeoutMs: number;
}

async function closeServer(
  server: Server,
  traffic: Traffic,
  { runtime, timeoutMs }: CloseOptions,
): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = new AbortController();
  const deadline = runtime.clock.sleep(timeoutMs, timer.signal).catch(() => undefined);
  await Promise.race([traffic.idle(), deadline]);
  timer.abort();
  if (traffic.inFlight > 0) {
    const rollouts = traffic.rollouts();
    runtime.logger.warn(
      `The endpoint waited ${timeoutMs / 1000} s for ${traffic.inFlight} calls of ${rollouts.length} rollouts and closed their connections. Agents should stop on their run's signal.`,
      { rollouts: rollouts.slice(0, 8) },
    );
  }
  server.closeAllConnections();
  await closed;
}
