/** Routes that list and manage saved weights, and list the models from which they were saved. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requestSchemas } from '../../protocol/index.js';
import { Refusal } from '../refusals/refusal.js';
import { checkpointKinds, type Checkpoint, type Standing } from '../service/checkpoints.js';
import type { Service } from '../service/service.js';
import type { TrainingRun } from '../service/training-run.js';
import { jsonRoute, readRequest, ttlSeconds } from './routes.js';

const lifetime = z.strictObject({ ttl_seconds: ttlSeconds });

export function addCheckpointRoutes(app: Hono, service: Service): void {
  const { checkpoints } = service;
  jsonRoute(app, 'weights_info', requestSchemas.weights_info, async (body) => {
    const { baseModel, rank } = await checkpoints.find(body.tinker_path);
    return { base_model: baseModel, is_lora: rank > 0, lora_rank: rank > 0 ? rank : null };
  });
  app.get('/api/v1/training_runs', async (context) => {
    const all = service.runs();
    const { page, cursor } = pageOf(context, all);
    const runs = await Promise.all(page.map((run) => describeRun(service, run)));
    return context.json({ training_runs: runs, cursor });
  });
  app.get('/api/v1/training_runs/:run', async (context) =>
    context.json(await describeRun(service, service.run(context.req.param('run')))),
  );
  app.get('/api/v1/training_runs/:run/checkpoints', async (context) => {
    const found = await checkpoints.list(context.req.param('run'));
    return context.json({ checkpoints: found.map(describeCheckpoint) });
  });
  app.get('/api/v1/checkpoints', async (context) => {
    const { page, cursor } = pageOf(context, await checkpoints.list());
    return context.json({ checkpoints: page.map(describeCheckpoint), cursor });
  });
  const place = '/api/v1/training_runs/:run/checkpoints/:kind/:name';
  const change = async (context: Context, standing: Standing): Promise<Response> => {
    const { run, kind, name } = context.req.param();
    await checkpoints.change(`tinker://${run}/${kind}/${name}`, standing);
    return context.body(null, 204);
  };
  app.post(`${place}/publish`, (context) => change(context, { isPublic: true }));
  app.delete(`${place}/publish`, (context) => change(context, { isPublic: false }));
  app.put(`${place}/ttl`, async (context) => {
    const { value } = await readRequest(context.req.raw, lifetime);
    return change(context, { ttlSeconds: value.ttl_seconds ?? null });
  });
  app.delete(place, async (context) => {
    const { run, kind, name } = context.req.param();
    await checkpoints.delete(`tinker://${run}/${kind}/${name}`);
    return context.body(null, 204);
  });
}

async function describeRun(
  { checkpoints, model }: Service,
  { facts, lastRequestAt }: TrainingRun,
): Promise<object> {
  const saved = await checkpoints.list(facts.id);
  const newest = (kind: Checkpoint['kind']): object | null => {
    const last = saved.findLast((checkpoint) => checkpoint.kind === kind);
    return last ? describeCheckpoint(last) : null;
  };
  return {
    training_run_id: facts.id,
    base_model: model.name,
    model_owner: 'local',
    is_lora: facts.rank > 0,
    lora_rank: facts.rank > 0 ? facts.rank : null,
    corrupted: false,
    last_request_time: lastRequestAt,
    last_checkpoint: newest('weights'),
    last_sampler_checkpoint: newest('sampler_weights'),
    user_metadata: facts.userMetadata,
  };
}

const describeCheckpoint = ({
  kind,
  name,
  uri,
  savedAt,
  isPublic,
  expiresAt = null,
}: Omit<Checkpoint, 'expiresAt'> & { readonly expiresAt?: string | null }): object => ({
  checkpoint_id: `${kind}/${name}`,
  checkpoint_type: checkpointKinds[kind],
  time: savedAt,
  tinker_path: uri,
  public: isPublic,
  expires_at: expiresAt,
});

interface Page<T> {
  readonly page: readonly T[];
  readonly cursor: {
    readonly offset: number;
    readonly limit: number;
    readonly total_count: number;
  };
}

function pageOf<T>(context: Context, all: readonly T[]): Page<T> {
  const offset = count(context, 'offset', 0);
  const limit = count(context, 'limit', 100);
  return {
    page: all.slice(offset, offset + limit),
    cursor: { offset, limit, total_count: all.length },
  };
}

function count(context: Context, name: string, absent: number): number {
  const text = context.req.query(name);
  if (text === undefined) return absent;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Refusal(422, `${name} must be a whole number.`);
}
