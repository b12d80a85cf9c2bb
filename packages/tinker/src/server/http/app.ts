/**
 * HTTP app with the routes of the protocol. Requests must carry the API key or use a signed URL.
 */
import { describeError, ModelError, type Logger } from '@trinity-rft/core';
import { keyCheck } from '@trinity-rft/http-server';
import { Hono } from 'hono';
import { paths } from '../../protocol/index.js';
import { Refusal } from '../refusals/refusal.js';
import type { Service } from '../service/service.js';
import { addArchiveRoutes, isDownload } from './archive-routes.js';
import { addCheckpointRoutes } from './checkpoint-routes.js';
import { addSamplingRoutes } from './sampling-routes.js';
import { addSessionRoutes } from './session-routes.js';
import { signedPaths } from './signed-path.js';
import { addTrainingRoutes } from './training-routes.js';

export interface AppOptions {
  readonly service: Service;
  readonly apiKey: string;
  readonly logger: Pick<Logger, 'error'>;
}

export function createApp({ service, apiKey, logger }: AppOptions): Hono {
  const app = new Hono();
  const hasKey = keyCheck(apiKey);
  const signed = signedPaths();
  const isOpen = ({ path, url }: { readonly path: string; readonly url: string }): boolean =>
    path === paths.health ||
    (isDownload(path) && signed.isValid(new URL(url), service.runtime.clock.now()));
  app.use(async ({ req }, next) => {
    if (!isOpen(req) && !hasKey(req.raw))
      throw new Refusal(
        401,
        'The key is missing or wrong. Send the key of the server as x-api-key.',
      );
    return next();
  });
  for (const add of [addSessionRoutes, addTrainingRoutes, addSamplingRoutes, addCheckpointRoutes])
    add(app, service);
  addArchiveRoutes(app, service, signed);
  app.notFound((context) => context.json({ detail: 'Not Found' }, 404));
  app.onError((error, context) => {
    const response = refuse(error);
    if (response.status >= 500)
      logger.error(`${context.req.method} ${context.req.path} failed: ${describeError(error)}`);
    return response;
  });
  return app;
}

/** Creates the HTTP response for an error, in the format of the Tinker API. */
export function refuse(error: unknown): Response {
  const isKnown = error instanceof Refusal || error instanceof ModelError;
  return Response.json({ detail: describeError(error) }, { status: isKnown ? error.status : 500 });
}
