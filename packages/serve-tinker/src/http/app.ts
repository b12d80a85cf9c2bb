/** The protocol's routes, for those who have the key. */
import { timingSafeEqual } from 'node:crypto';
import { describeError, type Logger } from '@trinity-rft/core';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { Refusal } from '../refusals/refusal.js';
import type { Service } from '../service/service.js';
import { addCheckpointRoutes } from './checkpoint-routes.js';
import { addSamplingRoutes } from './sampling-routes.js';
import { addSessionRoutes } from './session-routes.js';
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
  app.use(async ({ req }, next) => {
    if (!isHealth(req.path) && !hasKey(req.raw, apiKey))
      throw new Refusal(
        401,
        'The key is missing or wrong. Send the key of the server as x-api-key.',
      );
    return next();
  });
  app.use(
    bodyLimit({
      maxSize: maxBody,
      onError: () => {
        throw new Refusal(413, `The body has more than ${maxBody / 2 ** 20} MiB. Send fewer data.`);
      },
    }),
  );
  for (const add of [addSessionRoutes, addTrainingRoutes, addSamplingRoutes, addCheckpointRoutes])
    add(app, service);
  app.notFound((context) => context.json({ detail: 'Not Found' }, 404));
  app.onError((error, context) => {
    if (error instanceof Refusal) return context.json({ detail: error.message }, error.status);
    logger.error(`${context.req.method} ${context.req.path} failed: ${describeError(error)}`);
    return context.json({ detail: describeError(error) }, 500);
  });
  return app;
}

const isHealth = (path: string): boolean => path === '/api/v1/healthz';

function hasKey({ headers }: Request, apiKey: string): boolean {
  const bearer = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  const [given, expected] = [headers.get('x-api-key') ?? bearer ?? '', apiKey].map((key) =>
    Buffer.from(key),
  );
  return given?.length === expected?.length && timingSafeEqual(given!, expected!);
}
