/** The server on HTTP. */
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { ConfigError } from '@trinity-rft/core';
import { createApp } from './http/app.js';
import { createService, type ServiceOptions } from './service/service.js';

export interface TinkerServerOptions extends ServiceOptions {
  /** What clients send as `x-api-key`. The SDK accepts keys that begin with `tml-`. */
  readonly apiKey: string;
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** 0 = any free port. @default 0 */
  readonly port?: number;
}

export interface TinkerServer {
  /** For `base_url`: `http://HOST:PORT` */
  readonly url: string;
  /** Frees all models. */
  close(): Promise<void>;
}

/** How long a client may take to send headers, and a whole request, in ms. */
const [headersTimeout, requestTimeout] = [10_000, 60_000];

/**
 * Serves the Tinker protocol until it is closed.
 * @throws ConfigError when the port is not available
 */
export async function openTinkerServer(options: TinkerServerOptions): Promise<TinkerServer> {
  const { apiKey, host = '127.0.0.1', port = 0, runtime } = options;
  const service = createService(options);
  const app = createApp({ service, apiKey, logger: runtime.logger });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer({ headersTimeout, requestTimeout }, (incoming, outgoing) => {
    // It never rejects: the application turns errors into responses.
    void listener(incoming, outgoing);
  });
  try {
    const actualPort = await listen(server, host, port);
    return {
      url: `http://${host}:${actualPort}`,
      close: async () => {
        await closed(server);
        await service.close();
      },
    };
  } catch (error) {
    await service.close();
    throw error;
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new ConfigError(
          `The server cannot listen on ${host}:${port}: ${cause.message}. Choose a free port, or 0 for any.`,
          { code: 'PORT_TAKEN', cause },
        ),
      ),
    );
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}
