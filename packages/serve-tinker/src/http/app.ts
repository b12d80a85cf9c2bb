/** The protocol's routes, for those who have the key. */
import { timingSafeEqual } from 'node:crypto';
import { describeError, type Logger } from '@trinity-rft/core';
import { Hono } from 'hono';
import { Refusal } from '../refusals/refusal.js';
import type { Service } from '../service/service.js';
import { addArchiveRoutes, isDownload } from './archive-routes.js';
import { addCheckpointRoutes } from './checkpoint-routes.js';
import { addSamplingRoutes } from './sampling-routes.js';
import { addSessionRoutes } from './session-routes.js';
import { signedPaths } from './signed-path.js';
import { addTrainingRoutes } from './training-routes.js';

/** Bytes of a request. */
const maxBody = 64 * 2 ** 20;

export interface AppOptions {
  readonly service: Service;
  readonly apiKey: string;
  readonly logger: Pick<Logger, 'error'>;
}

export function createApp({ service, apiKey, logger }: AppOptions): Hono {
  const app = new Hono();
  const signed = signedPaths();
  const isOpen = ({ path, url }: { readonly path: string; readonly url: string }): boolean =>
    path === '/api/v1/healthz' ||
    (isDownload(path) && signed.isValid(new URL(url), service.runtime.clock.now()));
  app.use(async ({ req }, next) => {
    if (!isOpen(req) && !hasKey(req.raw, apiKey))
      throw new Refusal(
        401,
        'The key is missing or wrong. Send the key of the server as x-api-key.',
      );
    return next();
  });
  app.use(({ req }, next) => {
    assertSize(req.raw);
    return next();
  });
  for (const add of [addSessionRoutes, addTrainingRoutes, addSamplingRoutes, addCheckpointRoutes])
    add(app, service);
  addArchiveRoutes(app, service, signed);
  app.notFound((context) => context.json({ detail: 'Not Found' }, 404));
  app.onError((error, context) => {
    if (error instanceof Refusal) return context.json({ detail: error.message }, error.status);
    logger.error(`${context.req.method} ${context.req.path} failed: ${describeError(error)}`);
    return context.json({ detail: describeError(error) }, 500);
  });
  return app;
}

/** A body without a length may have any. */
function assertSize({ headers }: Request): void {
  const limit = `${maxBody / 2 ** 20} MiB`;
  if (headers.has('transfer-encoding'))
    throw new Refusal(413, `The body has no content-length. Send one, of at most ${limit}.`);
  if (Number(headers.get('content-length') ?? 0) > maxBody)
    throw new Refusal(413, `The body has more than ${limit}. Send fewer data.`);
}

function hasKey({ headers }: Request, apiKey: string): boolean {
  const bearer = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  const [given, expected] = [headers.get('x-api-key') ?? bearer ?? '', apiKey].map((key) =>
    Buffer.from(key),
  );
  return given?.length === expected?.length && timingSafeEqual(given!, expected!);
}
