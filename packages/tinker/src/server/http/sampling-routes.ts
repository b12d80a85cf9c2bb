/** Routes that create samplers and sample from them. */
import type { Engine } from '@trinity-rft/core/engine';
import type { Hono } from 'hono';
import { z } from 'zod';
import { encodeSampleResult, requestSchemas } from '../../protocol/index.js';
import { Refusal } from '../refusals/refusal.js';
import { assertName } from '../service/checkpoints.js';
import type { FutureResult } from '../service/futures.js';
import type { SampleWork } from '../service/sampling.js';
import { saveCheckpoint } from '../service/save-and-load.js';
import type { SamplerFacts } from '../service/samplers.js';
import type { Service } from '../service/service.js';
import type { TrainingRun } from '../service/training-run.js';
import { accepted, json, jsonRoute, ttlSeconds } from './routes.js';
import { promptOf, sampleRequest, samplingOptions, type SampleRequest } from './sample-request.js';

/**
 * Request schemas, with the keys that this server supports. Requests with other keys are rejected,
 * because those keys would have no effect.
 */
const accepts = {
  save_weights_for_sampler: z.strictObject({
    ...requestSchemas.save_weights_for_sampler.shape,
    kind: z.literal('snapshot').nullish(),
    ttl_seconds: ttlSeconds,
    user_metadata: z.null().optional(),
    type: z.string().optional(),
  }),
  create_sampling_session: z.strictObject({
    ...requestSchemas.create_sampling_session.shape,
    type: z.string().optional(),
  }),
} as const;

export function addSamplingRoutes(app: Hono, service: Service): void {
  jsonRoute(app, 'save_weights_for_sampler', accepts.save_weights_for_sampler, (body, text) => {
    const run = service.run(body.model_id);
    const name = body.path ? assertName(body.path) : undefined;
    const seqId = body.sampling_session_seq_id ?? undefined;
    if (name === undefined && seqId === undefined)
      throw new Refusal(
        422,
        'Name the weights with path, or a sampler with sampling_session_seq_id.',
      );
    const save = async (engine: Engine): Promise<FutureResult> => {
      const { uri, id } = await saved(service, run, engine, {
        name,
        seqId,
        ttlSeconds: body.ttl_seconds,
      });
      const type = 'save_weights_for_sampler';
      return json({ type, path: uri ?? null, sampling_session_id: id ?? null });
    };
    return accepted(run.submit({ seqId: body.seq_id ?? undefined, body: text }, save));
  });
  jsonRoute(app, 'create_sampling_session', accepts.create_sampling_session, async (body) => {
    const weights = { sessionId: body.session_id, ...(await weightsOf(service, body)) };
    const { id } = service.samplers.create(weights, body.sampling_session_seq_id);
    return { type: 'create_sampling_session', sampling_session_id: id };
  });
  app.get('/api/v1/samplers/:id', (context) => {
    const { id, uri } = service.samplers.find(context.req.param('id'));
    const { name } = service.model;
    return context.json({ sampler_id: id, base_model: name, model_path: uri ?? null });
  });
  jsonRoute(app, 'asample', sampleRequest, async (body) => {
    const { weights, signal } = await placeOf(service, body);
    const work: SampleWork = {
      weights,
      prompt: promptOf(body),
      options: samplingOptions(body),
      promptLogprobs: body.prompt_logprobs ?? false,
      topPromptLogprobs: body.topk_prompt_logprobs ?? 0,
    };
    const requestId = service.futures.add(sampled(service, work, signal));
    const ids = Array.from({ length: body.num_samples }, (_, i) => `${requestId}-${i}`);
    return accepted(requestId, { sample_sequence_ids: ids });
  });
}

interface Wanted {
  readonly name: string | undefined;
  /**
   * Sequence number of the sampler to create. If undefined and the weights have a name, no sampler
   * is created.
   */
  readonly seqId: number | undefined;
  readonly ttlSeconds: number | null | undefined;
}

async function saved(
  service: Service,
  run: TrainingRun,
  engine: Engine,
  { name, seqId, ttlSeconds: ttl }: Wanted,
): Promise<Partial<SamplerFacts>> {
  if (name === undefined) return service.samplers.snapshot(run, engine, seqId ?? 0);
  const options = { kind: 'sampler_weights', name, overwrite: true, ttlSeconds: ttl } as const;
  const { uri, directory } = await saveCheckpoint(service, run, engine, options);
  const weights = { sessionId: run.facts.sessionId, uri, weights: directory };
  return seqId === undefined ? weights : service.samplers.create(weights, seqId);
}

async function sampled(
  service: Service,
  work: SampleWork,
  signal: AbortSignal,
): Promise<FutureResult> {
  return { kind: 'protobuf', bytes: encodeSampleResult(await service.sample(work, signal)) };
}

interface SamplePlace {
  readonly weights: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Returns the weights to sample from: those of the request's sampler or, without a sampler, the
 * weights that the request names.
 */
async function placeOf(service: Service, body: SampleRequest): Promise<SamplePlace> {
  if (!body.sampling_session_id)
    return { ...(await weightsOf(service, body)), signal: new AbortController().signal };
  const { weights, sessionId } = service.samplers.find(body.sampling_session_id);
  return { weights, signal: service.sessions.find(sessionId).signal };
}

interface NamedWeights {
  readonly base_model?: string | null | undefined;
  readonly model_path?: string | null | undefined;
}

async function weightsOf(
  { checkpoints, model }: Service,
  { base_model: base, model_path: uri }: NamedWeights,
): Promise<Pick<SamplerFacts, 'uri' | 'weights'>> {
  if (uri) return { uri, weights: (await checkpoints.find(uri)).directory };
  if (!base) throw new Refusal(422, 'Name base_model or model_path.');
  if (base !== model.name)
    throw new Refusal(400, `base_model is "${base}"; this server has "${model.name}".`);
  return { uri: undefined, weights: undefined };
}
