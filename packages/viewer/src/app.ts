/** The viewer's routes: a page without data, and a JSON interface that needs the key. */
import { timingSafeEqual } from 'node:crypto';
import { describeError } from '@trinity-rft/core';
import { Hono } from 'hono';
import type { Assets } from './page/assets.js';
import { parseQuery } from './records/query.js';
import type { Records } from './records/records.js';

/**
 * Scripts and styles only from this server, connections only to it, and no text becomes HTML: text
 * of models and tools stays harmless even if the page has a bug.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const headers = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * @param hosts accepted values of the Host header: any other name belongs to a page of another site
 * whose domain resolves to this machine
 */
export function createApp(
  stores: readonly Records[],
  assets: Assets,
  key: string,
  hosts: () => readonly string[],
): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    if (!hosts().includes(context.req.header('host') ?? ''))
      return context.text('Unknown host. Open the printed address.', 403, headers);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  });
  app.use('/api/*', async (context, next) => {
    if (!sameKey(context.req.header('authorization'), key)) {
      return context.json(
        {
          error:
            'The key is missing or wrong. Open the complete printed address, including the part after #.',
        },
        401,
      );
    }
    return next();
  });
  app.get('/', (context) => context.html(assets.html));
  app.get('/style.css', (context) =>
    context.body(assets.style, 200, { 'content-type': 'text/css; charset=utf-8' }),
  );
  app.get('/client.js', (context) =>
    context.body(assets.client, 200, { 'content-type': 'text/javascript; charset=utf-8' }),
  );
  app.get('/api/stores', (context) =>
    context.json(
      stores.map(({ database, hasTokenizer }, store) => ({ store, database, hasTokenizer })),
    ),
  );
  app.get('/api/stores/:store/rows', async (context) => {
    const records = stores[Number(context.req.param('store'))];
    return records
      ? context.json(await records.page(parseQuery(context.req.query())))
      : context.json(notFound, 404);
  });
  app.get('/api/stores/:store/rows/:id', (context) => {
    const detail = stores[Number(context.req.param('store'))]?.detail(
      Number(context.req.param('id')),
    );
    return detail ? context.json(detail) : context.json(notFound, 404);
  });
  app.notFound((context) => context.json(notFound, 404));
  app.onError((error, context) => context.json({ error: describeError(error) }, 500, headers));
  return app;
}

const notFound = { error: 'Not found.' };

function sameKey(header: string | undefined, key: string): boolean {
  const [given, expected] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${key}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
