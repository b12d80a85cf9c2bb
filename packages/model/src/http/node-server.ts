/** Node's HTTP server with the limits of the endpoint. */
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { ModelError, type Runtime } from '@trinity-rft/core';
import { errorResponse } from '../protocols/shared/answer/error-response.js';
import type { Cors } from './cors.js';
import type { EndpointApp } from './dispatch.js';
import type { EndpointLimits } from './limits.js';
import type { Traffic } from './traffic.js';

export function createNodeServer(app: EndpointApp, limits: EndpointLimits, cors: Cors): Server {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveMs, maxHeaderBytes, maxConnections } =
    limits;
  const listener = getRequestListener(app.fetch as Parameters<typeof getRequestListener>[0], {
    // For HTTP/1.0, whose requests name no host.
    hostname: '127.0.0.1',
    // The process belongs to the user, so its global Request and Response stay as they are.
    overrideGlobalObjects: false,
    errorHandler: (cause) => errorResponse(malformed(cause)),
  });
  const shortestTimeoutMs = Math.min(headersTimeoutMs, requestTimeoutMs);
  const server = createServer(
    {
      headersTimeout: shortestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // How often timeouts are checked.
      connectionsCheckingInterval: Math.min(5000, Math.max(50, Math.floor(shortestTimeoutMs / 2))),
    },
    (incoming, outgoing) => {
      if (!cors(incoming, outgoing)) void listener(incoming, outgoing);
    },
  );
  server.maxConnections = maxConnections;
  server.on('drop', () => server.closeIdleConnections());
  return server;
}

/** For input that cannot become a Request, because of its address or its Host header. */
function malformed(cause: unknown): ModelError {
  return new ModelError(
    'The request line or its Host header is not valid. Expected a path and the host of baseURL. Use an HTTP client.',
    { status: 400, code: 'invalid_request', cause },
  );
}

/** The port. @throws ModelError 503 */
export function listen(server: Server, host: string, port: number): Promise<number> {
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

export interface CloseOptions {
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>;
  readonly timeoutMs: number;
}

/** Waits for calls up to the timeout, then closes all connections. */
export async function closeServer(
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
