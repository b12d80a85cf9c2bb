import { openHttpServer, type HttpLimits } from '@trinity-rft/http-server';
import { createApp, refuse } from './http/app.js';
import { createService, type ServiceOptions } from './service/service.js';

export interface TinkerServerOptions extends ServiceOptions {
  /** API key that clients send as `x-api-key`. The SDK accepts only keys that begin with `tml-`. */
  readonly apiKey: string;
  /** Network address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** Port to listen on; 0 for any free port. @default 0 */
  readonly port?: number;
  readonly limits?: Partial<HttpLimits>;
}

export interface TinkerServer {
  /** URL for the clients' `base_url`: `http://HOST:PORT` */
  readonly url: string;
  /** Stops the server and frees all models. */
  close(): Promise<void>;
}

/**
 * Serves the Tinker protocol until the server is closed.
 * @throws ConfigError if the port is not available or the key is empty
 */
export async function openTinkerServer(options: TinkerServerOptions): Promise<TinkerServer> {
  const { apiKey, host, port, limits, runtime } = options;
  const service = createService(options);
  try {
    const app = createApp({ service, apiKey, logger: runtime.logger });
    const server = await openHttpServer({
      fetch: (request) => app.fetch(request),
      refuse,
      host,
      port,
      limits,
    });
    return {
      url: server.url,
      close: async () => {
        await server.close();
        await service.close();
      },
    };
  } catch (error) {
    await service.close();
    throw error;
  }
}
