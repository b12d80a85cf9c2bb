/** Routes for sessions, server capabilities and results. */
import type { Hono } from 'hono';
import { z } from 'zod';
import { paths, requestSchemas } from '../../protocol/index.js';
import { jsonRoute, readRequest, resultResponse } from './routes.js';
import type { Service } from '../service/service.js';

/**
 * Maximum time for which the server holds a request for a result open, in ms. Then the client must
 * poll again.
 */
const pollMs = 30_000;

export const metadata = z.record(z.string(), z.unknown()).nullish();
const anything = z.looseObject({});

export function addSessionRoutes(app: Hono, { model, sessions, futures }: Service): void {
  app.get(paths.health, (context) => context.json({ status: 'ok' }));
  app.get('/api/v1/get_server_capabilities', (context) =>
    context.json({
      supported_models: [
        {
          model_name: model.name,
          max_context_length: model.maxModelLen ?? null,
          trainable: true,
          sampleable: true,
        },
      ],
    }),
  );
  jsonRoute(app, 'client/config', anything, () => ({ pjwt_auth_enabled: false }));
  jsonRoute(app, 'client/dynamic_config', anything, () => ({ sample_cancel_enabled: false }));
  jsonRoute(app, 'telemetry', anything, () => ({ status: 'accepted' }));
  jsonRoute(app, 'create_session', z.looseObject({ user_metadata: metadata }), (body) => ({
    type: 'create_session',
    session_id: sessions.create(body.user_metadata ?? {}).id,
    info_message: null,
    warning_message: null,
    error_message: null,
  }));
  jsonRoute(app, 'session_heartbeat', requestSchemas.session_heartbeat, (body) => {
    sessions.heard(body.session_id);
    return { type: 'session_heartbeat' };
  });
  app.get('/api/v1/sessions/:id', (context) => {
    const { runs, samplers, userMetadata } = sessions.find(context.req.param('id'));
    return context.json({
      training_run_ids: [...runs],
      sampler_ids: [...samplers],
      user_metadata: userMetadata,
    });
  });
  app.post('/api/v1/sessions/:id/finish', (context) => {
    sessions.finish(context.req.param('id'));
    return context.body(null, 204);
  });
  app.post('/api/v1/retrieve_future', async (context) => {
    const { request_id: id } = (await readRequest(context.req.raw, requestSchemas.retrieve_future))
      .value;
    const state = await futures.result(id, pollMs);
    if (state.kind !== 'pending') return resultResponse(context, state);
    return context.json({ type: 'try_again', request_id: id, queue_state: 'active' }, 408);
  });
}
