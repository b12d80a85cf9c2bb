/** Routes that create, train, save and load models. */
import type { Hono } from 'hono';
import { z } from 'zod';
import {
  decodeForwardBackward,
  encodeForwardBackwardResult,
  protobufType,
  requestSchemas,
  type ForwardBackwardRequest,
} from '../../protocol/index.js';
import { describeError, TrinityError } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { readBytes } from '@trinity-rft/http-server';
import { forwardBackward, lossWork } from '../loss/forward-backward.js';
import { Refusal } from '../refusals/refusal.js';
import { assertName, type Checkpoint } from '../service/checkpoints.js';
import type { FutureResult } from '../service/futures.js';
import { loadCheckpoint, saveCheckpoint } from '../service/save-and-load.js';
import type { Service } from '../service/service.js';
import type { TrainingRun } from '../service/training-run.js';
import { accepted, json, jsonRoute, ttlSeconds } from './routes.js';
import { metadata } from './session-routes.js';

/** LoRA alpha, as in SkyRL and the hosted service. */
const alpha = 32;
/** Matches the layers of the MLP in every family of models. */
const mlpName = /^(gate_proj|up_proj|down_proj|gate_up_proj|w[123]|(in|out)put_linear)$/;
const llamaModules = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

const maxBytes = 64 * 2 ** 20;
/** Maximum LoRA rank. It is limited because an adapter's memory grows in proportion to its rank. */
const maxRank = 1024;

const adamw = z.strictObject({ type: z.literal('adamw').optional() }).nullish();
const type = z.string().optional();

/**
 * Request schemas, with the keys that this server supports. Requests with other keys are rejected,
 * because those keys would have no effect.
 */
const accepts = {
  create_model: z.strictObject({
    ...requestSchemas.create_model.shape,
    lora_config: z
      .strictObject({
        ...requestSchemas.create_model.shape.lora_config.shape,
        rank: z.int().min(0).max(maxRank),
      })
      .nullish(),
    user_metadata: metadata,
    optimizer_config: adamw,
    type,
  }),
  optim_step: z.strictObject({ ...requestSchemas.optim_step.shape, type }),
  save_weights: z.strictObject({
    ...requestSchemas.save_weights.shape,
    ttl_seconds: ttlSeconds,
    user_metadata: z.null().optional(),
    type,
  }),
  load_weights: z.strictObject({
    ...requestSchemas.load_weights.shape,
    base_model: z.string().nullish(),
    user_metadata: metadata,
    optimizer_config: adamw,
    weights_access_token: z.null().optional(),
    type,
  }),
  unload_model: z.strictObject({ ...requestSchemas.unload_model.shape, type }),
  get_info: z.strictObject({ ...requestSchemas.get_info.shape, type }),
} as const;

export function addTrainingRoutes(app: Hono, service: Service): void {
  jsonRoute(app, 'create_model', accepts.create_model, (body, text) => {
    assertModel(service, body.base_model);
    const lora = body.lora_config;
    const facts = {
      sessionId: body.session_id,
      rank: lora?.rank ?? 0,
      alpha,
      targetModules: lora ? modulesOf(service, lora) : ('all-linear' as const),
      seed: lora?.seed ?? 0,
      userMetadata: body.user_metadata ?? {},
    };
    const run = service.createRun(facts, body.model_seq_id ?? undefined);
    const requestId = run.submit({ seqId: 0, body: text }, async () =>
      json(description(service, run)),
    );
    return accepted(requestId, { ...description(service, run), status: 'created' });
  });
  app.post('/api/v1/forward_backward', async (context) => {
    const { request, body } = await readForwardBackward(context.req.raw);
    const work = lossWork(request);
    const run = service.run(request.modelId);
    const requestId = run.submit({ seqId: request.seqId, body }, async ({ trainer }) => ({
      kind: 'protobuf',
      bytes: encodeForwardBackwardResult(await forwardBackward(trainer, work)),
    }));
    return context.json(accepted(requestId));
  });
  jsonRoute(app, 'optim_step', accepts.optim_step, (body, text) => {
    const run = service.run(body.model_id);
    return accepted(
      run.submit({ seqId: body.seq_id ?? undefined, body: text }, (engine) =>
        step(engine, body.adam_params),
      ),
    );
  });
  jsonRoute(app, 'save_weights', accepts.save_weights, (body, text) => {
    const run = service.run(body.model_id);
    const name = assertName(body.path ?? `step-${Date.now()}`);
    const { overwrite, ttl_seconds: ttl } = body;
    return accepted(
      run.submit({ seqId: body.seq_id ?? undefined, body: text }, async (engine) => {
        const { uri } = await saveCheckpoint(service, run, engine, {
          kind: 'weights',
          name,
          overwrite: overwrite ?? false,
          ttlSeconds: ttl,
        });
        return json({ type: 'save_weights', path: uri });
      }),
    );
  });
  jsonRoute(app, 'load_weights', accepts.load_weights, async (body, text) => {
    const checkpoint = await service.checkpoints.find(body.path);
    const run = runToLoad(service, checkpoint, body);
    const { optimizer } = body;
    const requestId = run.submit(
      { seqId: body.seq_id ?? (body.model_id ? undefined : 0), body: text },
      async (engine): Promise<FutureResult> => {
        try {
          await loadCheckpoint(engine, checkpoint, { optimizer });
        } catch (error) {
          // The client gets no handle of a model that was created for this request.
          if (!body.model_id) void service.unload(run.facts.id).catch(() => undefined);
          throw loadError(error, checkpoint, run);
        }
        return json({ type: 'load_weights', path: checkpoint.uri, model_id: run.facts.id });
      },
    );
    return accepted(requestId, { model_id: run.facts.id });
  });
  jsonRoute(app, 'unload_model', accepts.unload_model, ({ model_id: id }) => {
    service.run(id);
    const done = service.unload(id).then(() => json({ type: 'unload_model', model_id: id }));
    return accepted(service.futures.add(done), { model_id: id });
  });
  jsonRoute(app, 'get_info', accepts.get_info, ({ model_id: id }) => {
    const run = service.run(id);
    const { name } = service.model;
    return {
      type: 'get_info',
      ...description(service, run),
      model_data: { arch: null, model_name: name, tokenizer_id: name },
      model_name: name,
    };
  });
}

function assertModel({ model }: Service, name: string): void {
  if (name === model.name) return;
  throw new Refusal(400, `base_model is "${name}"; this server has "${model.name}".`);
}

interface ModuleGroups {
  /** Layers that mix tokens: attention, convolutions and the gated delta rule. */
  readonly attention: readonly string[];
  readonly mlp: readonly string[];
}

function groupsOf({ model: { linearModules = llamaModules } }: Service): ModuleGroups {
  const mlp = linearModules.filter((name) => mlpName.test(name));
  return { mlp, attention: linearModules.filter((name) => !mlp.includes(name)) };
}

function modulesOf(
  service: Service,
  {
    train_attn: hasAttention,
    train_mlp: hasMlp,
  }: NonNullable<z.infer<typeof accepts.create_model>['lora_config']>,
): 'all-linear' | readonly string[] {
  const { attention, mlp } = groupsOf(service);
  const [trainsAttention, trainsMlp] = [hasAttention ?? true, hasMlp ?? true];
  if (trainsAttention && trainsMlp) return 'all-linear';
  if (trainsAttention) return attention;
  if (trainsMlp) return mlp;
  throw new Refusal(
    422,
    'Expected train_attn or train_mlp: this server has no adapters for the output layer.',
  );
}

function description(service: Service, { facts }: TrainingRun): object {
  const { attention, mlp } = groupsOf(service);
  const { id, rank, seed, targetModules } = facts;
  const trains = (modules: readonly string[]): boolean =>
    targetModules === 'all-linear' || modules.every((name) => targetModules.includes(name));
  return {
    model_id: id,
    base_model: service.model.name,
    is_lora: rank > 0,
    lora_rank: rank > 0 ? rank : null,
    lora_config: {
      rank,
      alpha,
      seed,
      train_attn: trains(attention),
      train_mlp: trains(mlp),
      train_unembed: rank === 0,
    },
  };
}

async function readForwardBackward(
  request: Request,
): Promise<{ readonly request: ForwardBackwardRequest; readonly body: Uint8Array }> {
  if (request.headers.get('content-type')?.split(';')[0]?.trim() !== protobufType)
    throw new Refusal(415, `forward_backward takes a body of type ${protobufType}.`);
  const body = await readBytes(request, { maxBytes });
  try {
    return { request: decodeForwardBackward(body), body };
  } catch (error) {
    throw new Refusal(422, `The body is no forward_backward request: ${describeError(error)}`);
  }
}

async function step(
  { trainer }: Engine,
  params: z.infer<typeof accepts.optim_step>['adam_params'],
): Promise<FutureResult> {
  const { gradNorm, skipped } = await trainer.step({
    learningRate: params.learning_rate,
    betas: [params.beta1, params.beta2],
    epsilon: params.eps,
    weightDecay: params.weight_decay,
    clipGradNorm: params.grad_clip_norm,
  });
  if (skipped)
    throw new Refusal(
      400,
      'The gradient is not finite: the weights were left as they are. Check the log-probabilities and advantages that were sent.',
    );
  return json({
    type: 'optim_step',
    metrics: { 'trinity/grad_norm': gradNorm, 'trinity/learning_rate': params.learning_rate },
  });
}

/** Returns `cause`, or an error with advice if weights do not load because of other adapters. */
function loadError(cause: unknown, checkpoint: Checkpoint, { facts }: TrainingRun): unknown {
  if (!TrinityError.is(cause) || cause.code !== 'CHECKPOINT_OTHER_ADAPTERS') return cause;
  const [stored, trained] = [checkpoint, facts].map(
    ({ rank, targetModules }) => `rank ${rank}, ${[targetModules].flat().join(', ')}`,
  );
  if (stored === trained) return cause;
  return new Refusal(
    422,
    `${checkpoint.uri} has adapters of ${stored}, but ${facts.id} has ${trained}. Send load_weights with a session_id and without model_id: this creates a model with the adapters of the weights.`,
  );
}

/**
 * Returns the model that the request names. If it names none, creates a model with the settings of
 * the checkpoint.
 */
function runToLoad(
  service: Service,
  { baseModel, rank, alpha: scale, targetModules }: Checkpoint,
  body: z.infer<typeof accepts.load_weights>,
): TrainingRun {
  if (body.model_id) return service.run(body.model_id);
  if (!body.session_id)
    throw new Refusal(422, 'body.model_id is missing. Name a model, or a session for a new one.');
  assertModel(service, baseModel);
  const sessionId = body.session_id;
  const userMetadata = body.user_metadata ?? {};
  const facts = { sessionId, rank, alpha: scale, targetModules, seed: 0, userMetadata };
  return service.createRun(facts, body.model_seq_id ?? undefined);
}
