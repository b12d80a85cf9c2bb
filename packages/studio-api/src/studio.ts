/** Runs and the page over them, on loopback HTTP. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { ConfigError } from '@trinity-rft/core';
import type { StudioPart } from './server/api.js';
import { createApp } from './server/app.js';
import { readPage } from './server/page-files.js';
import { createCatalogue } from './runs/catalogue.js';
import type { RunPlace } from './runs/place.js';

export interface StudioOptions {
  /** A folder with runs at any depth, or where known runs are. */
  readonly runs: string | readonly RunPlace[];
  /** Folder of the built page; without it, only the interface is served. */
  readonly page?: string;
  /** On 127.0.0.1; 0 = any free port. @default 0 */
  readonly port?: number;
  /** What requests must show. @default a random one */
  readonly key?: string;
  /** Of other packages. @default none: the interface only reads, except notes */
  readonly parts?: readonly StudioPart[];
}

export interface Studio {
  /** For a browser, with the key after the `#`, which browsers never send. */
  readonly url: string;
  /** For `Authorization: Bearer` at the interface. */
  readonly key: string;
  /** Ends connections and closes the stores. */
  close(): Promise<void>;
}

/**
 * Opens runs for reading; they may go on at the same time.
 * @throws ConfigError when the port is taken
 */
export async function openStudio({
  runs,
  page,
  port = 0,
  key = randomBytes(24).toString('base64url'),
  parts = [],
}: StudioOptions): Promise<Studio> {
  const catalogue = createCatalogue(runs);
  let actualPort = port;
  const app = createApp({
    catalogue,
    page: page === undefined ? new Map() : await readPage(page),
    key,
    more: parts,
    hosts: () => [`127.0.0.1:${actualPort}`, `localhost:${actualPort}`],
  });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  // The listener never rejects: the application turns errors into responses.
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  actualPort = await listen(server, port);
  const close = async (): Promise<void> => {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    catalogue.close();
    await Promise.all(parts.map((part) => part.close()));
  };
  return { url: `http://127.0.0.1:${actualPort}/#key=${encodeURIComponent(key)}`, key, close };
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
