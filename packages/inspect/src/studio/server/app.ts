/** Serves the studio's page, which contains no data, and its HTTP API, which requires the key. */
import { ConfigError, describeError, ModelError } from '@trinity-rft/core';
import { redactText } from '@trinity-rft/core/support';
import { keyCheck } from '@trinity-rft/http-server';
import { Hono } from 'hono';
import { openApi } from '../interface/openapi.js';
import { actions, routes } from '../interface/routes.js';
import type { Catalogue } from '../runs/catalogue.js';
import { createApi, notFound, type AddRoutes, type StudioPart } from './api.js';
import { addInsight } from './insight.js';
import { addMetrics } from './metrics.js';
import type { PageFile } from './page-files.js';
import { addRollouts } from './rollouts.js';
import { addRuns } from './runs.js';

const parts: readonly AddRoutes[] = [addRuns, addMetrics, addRollouts, addInsight];

/**
 * Content security policy. Scripts and styles come only from this server, connections go only to
 * this server, and scripts cannot insert text as HTML. Texts of models and tools thus stay harmless
 * even if the page has a bug.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const headers = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * Creates the app that serves the page and the HTTP API.
 * @param page files of the page by their path in the URL
 */
export function createApp(
  catalogue: Catalogue,
  page: ReadonlyMap<string, PageFile>,
  key: string,
  more: readonly StudioPart[],
): Hono {
  const app = new Hono();
  const hasKey = keyCheck(key);
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
  });
  app.use('/api/*', async (context, next) =>
    hasKey(context.req.raw) ? next() : context.json(noKey, 401),
  );
  const document = openApi(
    Object.assign({}, routes, ...more.map((part) => part.routes)),
    Object.assign({}, actions, ...more.map((part) => part.actions)),
  ) as object;
  app.get('/api/openapi.json', (context) => context.json(document));
  const api = createApi(app, catalogue);
  for (const add of [...parts, ...more.map((part) => part.add)]) add(api);
  app.get('/*', (context) => {
    const file = page.get(context.req.path === '/' ? '/index.html' : context.req.path);
    if (!file) return notFound(`There is nothing at ${context.req.path}.`);
    return context.body(file.bytes, 200, { 'content-type': file.type });
  });
  app.notFound((context) => notFound(`There is nothing at ${context.req.path}.`));
  app.onError(refuse);
  return app;
}

/** Returns a JSON response with the error's message. */
export function refuse(error: unknown): Response {
  const status =
    error instanceof ModelError ? error.status : error instanceof ConfigError ? 400 : 500;
  return Response.json({ error: redactText(describeError(error)) }, { status, headers });
}

const noKey = {
  error:
    'The key is missing or wrong. Open the complete printed address, including the part after #.',
};
