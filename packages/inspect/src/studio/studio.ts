/** Opens the studio's server on the loopback interface. It serves the page and the data of runs. */
import { randomBytes } from 'node:crypto';
import { ConfigError } from '@trinity-rft/core';
import { openHttpServer, type HttpLimits } from '@trinity-rft/http-server';
import type { StudioPart } from './server/api.js';
import { createApp, refuse } from './server/app.js';
import { readPage } from './server/page-files.js';
import { createCatalogue } from './runs/catalogue.js';
import type { RunPlace } from './runs/place.js';
import { within } from './shared/within.js';

export interface StudioOptions {
  /** A folder with runs at any depth, or the locations of known runs. */
  readonly runs: string | readonly RunPlace[];
  /** Folder of the built page. @default no page, only the HTTP API */
  readonly page?: string;
  /** Port on 127.0.0.1; 0 selects any free port. @default 0 */
  readonly port?: number;
  /** Key of at least 16 characters that requests must contain. @default a random key */
  readonly key?: string;
  /** Additional routes from other packages. @default no additional routes */
  readonly parts?: readonly StudioPart[];
  readonly limits?: Partial<HttpLimits>;
}

export interface Studio {
  /**
   * URL to open in a browser. The key follows `#`, because browsers do not send this part to
   * servers.
   */
  readonly url: string;
  /** Key for `Authorization: Bearer` in requests to the HTTP API. */
  readonly key: string;
  /**
   * Closes connections and stores.
   * @param again command that opens the studio again. Open pages load the last state, show the
   * command, and stop asking. @default open pages try to connect again
   */
  close(again?: string): Promise<void>;
}

const shortestKey = 16;
/** Maximum time in ms for open pages to load the last state. */
const leaveMs = 3000;

/**
 * Opens the studio's server. The runs may still be in progress.
 * @throws ConfigError when the port is taken, or the key is too short
 */
export async function openStudio({
  runs,
  page,
  port,
  key = randomBytes(24).toString('base64url'),
  parts = [],
  limits,
}: StudioOptions): Promise<Studio> {
  if (key.length < shortestKey)
    throw new ConfigError(
      `The key of the studio (TRINITY_STUDIO_KEY) has ${key.length} characters; expected at least ${shortestKey}, or no key for a random one.`,
      { code: 'ARGUMENT_INVALID' },
    );
  const catalogue = createCatalogue(runs);
  const files = page === undefined ? new Map() : await readPage(page);
  const app = createApp(catalogue, files, key, parts);
  const server = await openHttpServer({
    fetch: (request) => app.fetch(request),
    refuse,
    port,
    limits,
    loopbackOnly: true,
  });
  const close = async (again?: string): Promise<void> => {
    if (again !== undefined) await within(leaveMs, catalogue.end(again));
    await server.close();
    catalogue.close();
    await Promise.all(parts.map((part) => part.close()));
  };
  return { url: `${server.url}/#key=${encodeURIComponent(key)}`, key, close };
}
