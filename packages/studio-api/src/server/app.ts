/** The server's routes: a page without data, and an interface that needs the key. */
import { timingSafeEqual } from 'node:crypto';
import { describeError } from '@trinity-rft/core';
import { Hono, type Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { openApi } from '../interface/openapi.js';
import { curveOf, csvOf } from '../metrics/curve.js';
import { parseQuery } from '../rollouts/query.js';
import type { Catalogue } from '../runs/catalogue.js';
import type { Run } from '../runs/run.js';
import type { PageFile } from './page-files.js';

/**
 * Scripts and styles only from this server, connections only to it, and no text becomes HTML: text
 * of models and tools stays harmless even if the page has a bug.
 */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const headers = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

export interface AppOptions {
  readonly catalogue: Catalogue;
  /** Of the page, by path below the address. */
  readonly page: ReadonlyMap<string, PageFile>;
  readonly key: string;
  /**
   * Accepted values of the Host header: any other name belongs to a page of another site whose domain
   * resolves to this machine.
   */
  readonly hosts: () => readonly string[];
}

export function createApp({ catalogue, page, key, hosts }: AppOptions): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    const refused = refusal(context, hosts());
    if (refused !== undefined) return context.text(refused, 403, headers);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  });
  app.use('/api/*', async (context, next) =>
    sameKey(context.req.header('authorization'), key) ? next() : context.json(noKey, 401),
  );
  app.get('/api/openapi.json', (context) => context.json(openApi() as object));
  app.get('/api/runs', async (context) => context.json(await catalogue.summaries()));
  app.get('/api/events', (context) => streamEvents(context, catalogue));
  addRun(app, catalogue);
  app.get('/*', (context) => {
    const file = page.get(context.req.path === '/' ? '/index.html' : context.req.path);
    if (!file) return context.json(notFound, 404);
    return context.body(file.bytes, 200, { 'content-type': file.type });
  });
  app.notFound((context) => context.json(notFound, 404));
  app.onError((error, context) => context.json({ error: describeError(error) }, 500, headers));
  return app;
}

/** What belongs to one run. Its id may hold slashes, encoded. */
function addRun(app: Hono, catalogue: Catalogue): void {
  const get = (
    path: string,
    answer: (run: Run, context: Context) => Response | Promise<Response>,
  ): void =>
    void app.get(`/api/runs/:run/${path}`, async (context) => {
      // After a restart of the server, a page may ask before anything was listed.
      const id = context.req.param('run');
      if (catalogue.run(id) === undefined) await catalogue.summaries();
      const run = catalogue.run(id);
      return run ? answer(run, context) : context.json(notFound, 404);
    });

  get('metrics', async (run, context) => {
    await run.metrics.catchUp();
    return context.json(run.metricList());
  });
  get('curve', async (run, context) => {
    const found = await metricOf(run, context);
    if (!found) return context.json(notFound, 404);
    return context.json(curveOf(found.role, found.table, found.column, rangeOf(context)));
  });
  get('curve.csv', async (run, context) => {
    const found = await metricOf(run, context);
    if (!found) return context.json(notFound, 404);
    return context.body(csvOf(found.table, found.column), 200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="curve.csv"',
    });
  });
  get('rollouts', async (run, context) => {
    const rollouts = await run.rollouts();
    if (!rollouts) return context.json({ rows: [], matching: 0, total: 0 });
    return context.json(await rollouts.page(parseQuery(context.req.query())));
  });
  get('rollouts/:id', async (run, context) => {
    const rollouts = await run.rollouts();
    const detail = rollouts?.detail(Number(context.req.param('id')));
    return detail ? context.json(detail) : context.json(notFound, 404);
  });
}

async function metricOf(run: Run, context: Context) {
  await run.metrics.catchUp();
  const { role = '', name = '' } = context.req.query();
  const table = run.metrics.roles.get(role);
  const column = table?.metrics.get(name);
  return table && column && { role, table, column };
}

function rangeOf(context: Context): { from?: number; to?: number; points: number } {
  const number = (name: string): number | undefined => {
    const text = context.req.query(name);
    const value = text === undefined || text === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) ? value : undefined;
  };
  const points = Math.min(10_000, Math.max(2, Math.trunc(number('points') ?? 1000)));
  return { from: number('from'), to: number('to'), points };
}

/** A comment keeps the connection known to be alive. */
const aliveMs = 10_000;

function streamEvents(context: Context, catalogue: Catalogue): Response {
  return streamSSE(context, async (stream) => {
    const unfollow = catalogue.follow((event) => {
      void stream.writeSSE({ event: 'runs', data: JSON.stringify(event) });
    });
    const alive = setInterval(() => void stream.write(': alive\n\n'), aliveMs);
    await new Promise<void>((resolve) => stream.onAbort(resolve));
    clearInterval(alive);
    unfollow();
  });
}

const notFound = { error: 'Not found.' };
const noKey = {
  error:
    'The key is missing or wrong. Open the complete printed address, including the part after #.',
};

/** Why a request is refused before anything is looked at. */
function refusal(context: Context, hosts: readonly string[]): string | undefined {
  if (!hosts.includes(context.req.header('host') ?? ''))
    return 'Unknown host. Open the printed address.';
  const origin = context.req.header('origin');
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`))
    return 'Unknown origin. Open the printed address.';
  return undefined;
}

function sameKey(header: string | undefined, key: string): boolean {
  const [given, expected] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${key}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
