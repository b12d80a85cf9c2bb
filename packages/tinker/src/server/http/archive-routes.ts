/**
 * Adapter downloads for Tinker and SkyRL clients. Authenticated requests are redirected to a signed
 * URL that works without the API key.
 */
import type { Context, Hono } from 'hono';
import { archiveOf, assertAdapter } from '../service/archive.js';
import type { Checkpoint } from '../service/checkpoints.js';
import type { Service } from '../service/service.js';
import type { SignedPaths } from './signed-path.js';

/** Lifetime of a signed URL, in ms. */
const validMs = 2 * 3_600_000;

const checkpointsPath = '/api/v1/training_runs/:run/checkpoints';

export const isDownload = (path: string): boolean => path.endsWith('/download');

export function addArchiveRoutes(app: Hono, service: Service, signed: SignedPaths): void {
  const redirect = async (context: Context): Promise<Response> => {
    const { runId, kind, name } = await checkpointOf(service, context);
    const { origin } = new URL(context.req.url);
    const expires = service.runtime.clock.now() + validMs;
    const path = `/api/v1/training_runs/${encodeURIComponent(runId)}/checkpoints/${kind}/${name}/download`;
    context.header('expires', new Date(expires).toUTCString());
    return context.redirect(origin + signed.sign(path, expires));
  };
  app.get(`${checkpointsPath}/:kind/:name/archive`, redirect);
  // SkyRL's clients do not send a kind.
  app.get(`${checkpointsPath}/:name/archive`, redirect);
  app.get(`${checkpointsPath}/:kind/:name/download`, async (context) => {
    const checkpoint = await checkpointOf(service, context);
    return context.body(archiveOf(checkpoint), 200, {
      'content-type': 'application/gzip',
      'content-disposition': `attachment; filename="${checkpoint.name}.tar.gz"`,
    });
  });
}

async function checkpointOf({ checkpoints }: Service, { req }: Context): Promise<Checkpoint> {
  const { run, kind = 'sampler_weights', name } = req.param() as Record<string, string>;
  const found = await checkpoints.find(`tinker://${run}/${kind}/${name}`);
  await assertAdapter(found);
  return found;
}
