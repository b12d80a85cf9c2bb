/**
 * What the viewer answers: one page that holds no data, and a JSON interface that needs the key.
 */
import { timingSafeEqual } from 'node:crypto';
import { describeError } from '@trinity-rft/core';
import { Hono } from 'hono';
import type { Assets } from './page/assets.js';
import { parseQuery } from './records/query.js';
import type { Records } from './records/records.js';

/**
 * Scripts and styles only from here, connections only to here, and no text is ever read as HTML:
 * what models and tools have written cannot act, even where the page had a mistake.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * @param hosts values of the Host header that are ours: another name means another site's page that
 * resolves to this machine
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
      return context.text('Open the address that was printed.', 403, headers);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  });
  app.use('/api/*', async (context, next) => {
    if (!sameKey(context.req.header('authorization'), key)) {
      return context.json(
        {
          error:
            'The key is missing or wrong. Open the whole address that was printed, with what follows its #.',
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
      : context.json(nothing, 404);
  });
  app.get('/api/stores/:store/rows/:id', (context) => {
    const detail = stores[Number(context.req.param('store'))]?.detail(
      Number(context.req.param('id')),
    );
    return detail ? context.json(detail) : context.json(nothing, 404);
  });
  app.notFound((context) => context.json(nothing, 404));
  app.onError((error, context) => context.json({ error: describeError(error) }, 500, headers));
  return app;
}

const nothing = { error: 'There is nothing here.' };

function sameKey(header: string | undefined, key: string): boolean {
  const [given, expected] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${key}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
