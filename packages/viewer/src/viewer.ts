/** The viewer on loopback HTTP. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { ConfigError } from '@trinity-rft/core';
import { createApp } from './app.js';
import { readAssets } from './page/assets.js';
import { openRecords, type Records, type StorePlace } from './records/records.js';

export interface ViewerOptions {
  readonly stores: readonly StorePlace[];
  /** On 127.0.0.1; 0 = any free port. @default 0 */
  readonly port?: number;
}

export interface Viewer {
  /** For a browser, with the key after the `#`, which browsers never send. */
  readonly url: string;
  /** For `Authorization: Bearer` at the JSON interface. */
  readonly key: string;
  /** Ends connections and closes the stores. */
  close(): Promise<void>;
}

/**
 * Opens the stores for reading; a run may write to them at the same time.
 * @throws ConfigError when the port is taken, BufferError when a store cannot be read
 */
export async function openViewer({ stores, port = 0 }: ViewerOptions): Promise<Viewer> {
  const key = randomBytes(24).toString('base64url');
  const records: Records[] = [];
  const closeRecords = (): void => records.forEach((one) => one.close());
  try {
    for (const store of stores) records.push(await openRecords(store));
    let actualPort = port;
    const app = createApp(records, await readAssets(), key, () => [
      `127.0.0.1:${actualPort}`,
      `localhost:${actualPort}`,
    ]);
    const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    // The listener never rejects: the application turns errors into responses.
    const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
    actualPort = await listen(server, port);
    const close = async (): Promise<void> => {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      closeRecords();
    };
    return { url: `http://127.0.0.1:${actualPort}/#key=${key}`, key, close };
  } catch (error) {
    closeRecords();
    throw error;
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new ConfigError(
          `Port ${port} is not available: ${cause.message}. Choose a free one, or omit --port to use any.`,
          { code: 'PORT_TAKEN', cause },
        ),
      ),
    );
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}
