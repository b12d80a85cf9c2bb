/** Runs and the page over them, on loopback HTTP. */
import { randomBytes } from 'node:crypto';
import { openHttpServer, type HttpLimits } from '@trinity-rft/http-server';
import type { StudioPart } from './server/api.js';
import { createApp, refuse } from './server/app.js';
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
  /** Key that requests must show. @default a random one */
  readonly key?: string;
  /** Parts of other packages. @default none: the interface only reads, except notes */
  readonly parts?: readonly StudioPart[];
  readonly limits?: Partial<HttpLimits>;
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
 * Opens runs for reading; they may continue at the same time.
 * @throws ConfigError when the port is taken
 */
export async function openStudio({
  runs,
  page,
  port,
  key = randomBytes(24).toString('base64url'),
  parts = [],
  limits,
}: StudioOptions): Promise<Studio> {
  const catalogue = createCatalogue(runs);
  const app = createApp({
    catalogue,
    page: page === undefined ? new Map() : await readPage(page),
    key,
    more: parts,
  });
  const server = await openHttpServer({
    fetch: (request) => app.fetch(request),
    refuse,
    port,
    limits,
    loopbackOnly: true,
  });
  const close = async (): Promise<void> => {
    await server.close();
    catalogue.close();
    await Promise.all(parts.map((part) => part.close()));
  };
  return { url: `${server.url}/#key=${encodeURIComponent(key)}`, key, close };
}
