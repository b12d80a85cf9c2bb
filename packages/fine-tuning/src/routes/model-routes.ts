/** HTTP routes for base models and trained models. */
import type { Hono } from 'hono';
import type { ServedModels } from '@trinity-rft/local/server';
import type { BaseModels } from '../store/base-models.js';
import { modelName } from '../run/prepare.js';
import { isOver, type JobStore } from '../store/jobs.js';
import { refused } from '../wire/refuse.js';

interface ModelsContext {
  readonly models: BaseModels;
  readonly jobs: JobStore;
}

/** Hono environment of the routes. Each request is given the models that the server serves. */
export interface Brought {
  readonly Bindings: { readonly served: ServedModels };
}

export function addModelRoutes(app: Hono<Brought>, { models, jobs }: ModelsContext): void {
  const shown = (name: string) => {
    const trained = name.replace(/:ckpt-step-\d+$/, '');
    const job = jobs.list().find((each) => modelName(each) === trained);
    return {
      id: name,
      object: 'model',
      created: job?.finished_at ?? job?.created_at ?? 0,
      owned_by: job ? 'org-local' : 'system',
      ...(job && { parent: job.model }),
    };
  };
  app.get('/v1/models', ({ json, env: { served } }) =>
    json({ object: 'list', data: served.names.map(shown), has_more: false }),
  );
  app.get('/v1/models/:id{.+}', ({ req, json, env: { served } }) => {
    const name = req.param('id');
    served.current(name);
    return json(shown(name));
  });
  app.delete('/v1/models/:id{.+}', async ({ req, json, env: { served } }) => {
    const name = req.param('id');
    const job = jobs.list().find((each) => isOver(each.status) && modelName(each) === name);
    const trained = served.names.filter(
      (each) => each === name || each.startsWith(`${name}:ckpt-step-`),
    );
    if (!job || trained.length === 0) {
      served.current(name);
      const isBase = Object.hasOwn(models, name);
      throw refused(
        `${name} is ${isBase ? 'a base model' : 'a checkpoint, which is deleted with its model'}. Only trained models can be deleted.`,
        { param: 'model', code: isBase ? 'base_model' : 'checkpoint', status: 403 },
      );
    }
    await jobs.change(job.id, { deleted: true });
    for (const each of trained) served.remove(each);
    return json({ id: name, object: 'model', deleted: true });
  });
}
