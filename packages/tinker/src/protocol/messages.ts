/**
 * Schemas of the JSON messages. Servers validate requests with them, and clients validate
 * responses. Unknown keys are dropped, because servers and SDKs of other versions may send
 * additional keys.
 */
import { z } from 'zod';

const id = z.string().min(1);
const loraConfig = z.object({
  rank: z.number().int(),
  seed: z.number().int().nullish(),
  train_mlp: z.boolean().nullish(),
  train_attn: z.boolean().nullish(),
  train_unembed: z.boolean().nullish(),
});
const chunk = z.object({
  type: z.literal('encoded_text').default('encoded_text'),
  tokens: z.array(z.number().int()),
});

/** Schemas of the requests, keyed by the verb in their path (`/api/v1/VERB`). */
export const requestSchemas = {
  create_session: z.object({
    tags: z.array(z.string()).default([]),
    user_metadata: z.record(z.string(), z.unknown()).nullish(),
    sdk_version: z.string().default(''),
  }),
  session_heartbeat: z.object({ session_id: id }),
  create_model: z.object({
    session_id: id,
    model_seq_id: z.number().int().nullish(),
    base_model: z.string(),
    lora_config: loraConfig,
  }),
  unload_model: z.object({ model_id: id }),
  get_info: z.object({ model_id: id }),
  retrieve_future: z.object({ request_id: id, allow_metadata_only: z.boolean().nullish() }),
  optim_step: z.object({
    model_id: id,
    seq_id: z.number().int().nullish(),
    adam_params: z
      .object({
        learning_rate: z.number().min(0).default(1e-4),
        beta1: z.number().min(0).lt(1).default(0.9),
        beta2: z.number().min(0).lt(1).default(0.95),
        eps: z.number().positive().default(1e-12),
        weight_decay: z.number().min(0).default(0),
        /** Gradient norm above which gradients are clipped. 0 disables clipping. */
        grad_clip_norm: z.number().min(0).default(0),
      })
      .prefault({}),
  }),
  save_weights: z.object({
    model_id: id,
    seq_id: z.number().int().nullish(),
    path: z.string().nullish(),
    overwrite: z.boolean().nullish(),
  }),
  /**
   * Request to load weights into a model, which is identified by its id or, with SDK 0.38, by the
   * session and the sequence number of the model to create.
   */
  load_weights: z.object({
    model_id: id.nullish(),
    session_id: id.nullish(),
    model_seq_id: z.number().int().nullish(),
    seq_id: z.number().int().nullish(),
    path: z.string(),
    optimizer: z.boolean().default(true),
  }),
  save_weights_for_sampler: z.object({
    model_id: id,
    seq_id: z.number().int().nullish(),
    sampling_session_seq_id: z.number().int().nullish(),
    path: z.string().nullish(),
    kind: z.enum(['snapshot', 'inflight']).nullish(),
  }),
  create_sampling_session: z.object({
    session_id: id,
    sampling_session_seq_id: z.number().int(),
    base_model: z.string().nullish(),
    model_path: z.string().nullish(),
  }),
  asample: z.object({
    num_samples: z.number().int().min(1).default(1),
    prompt: z.object({ chunks: z.array(chunk) }),
    sampling_params: z.object({
      max_tokens: z.number().int().min(1).nullish(),
      seed: z.number().int().nullish(),
      stop: z.union([z.string(), z.array(z.number().int()), z.array(z.string())]).nullish(),
      temperature: z.number().min(0).default(1),
      top_k: z.number().int().default(-1),
      top_p: z.number().min(0).max(1).default(1),
    }),
    base_model: z.string().nullish(),
    model_path: z.string().nullish(),
    sampling_session_id: id.nullish(),
    seq_id: z.number().int().nullish(),
    prompt_logprobs: z.boolean().nullish(),
    topk_prompt_logprobs: z.number().int().min(0).nullish(),
    topk_sample_logprobs: z.number().int().min(0).nullish(),
  }),
  weights_info: z.object({ tinker_path: z.string() }),
} as const;

/** A verb whose requests are JSON. Only `forward_backward` requests are protobuf. */
export type JsonVerb = keyof typeof requestSchemas;
export type JsonRequest<V extends JsonVerb> = z.input<(typeof requestSchemas)[V]>;

/** Response to a request whose result is fetched later, with `request_id`. */
export const pendingAnswer = z.object({
  request_id: id,
  /** Ids of the samples. SDK 0.38 requires one id per sample; SkyRL 0.4 sends none. */
  sample_sequence_ids: z.array(z.string()).nullish(),
});
/** Schema of the response to `create_session`. */
export const sessionAnswer = z.object({
  session_id: id,
  info_message: z.string().nullish(),
  warning_message: z.string().nullish(),
  error_message: z.string().nullish(),
});
/** Immediate response to `create_model`. The model is usable once its result is available. */
export const modelAnswer = z.object({ model_id: id, request_id: id });
/** Schema of the response to `create_sampling_session`. */
export const samplingSessionAnswer = z.object({ sampling_session_id: id });
/** Schema of the response to `GET get_server_capabilities`, which lists the base models. */
export const capabilitiesAnswer = z.object({
  supported_models: z.array(
    z.object({
      model_name: z.string().nullish(),
      max_context_length: z.number().int().positive().nullish(),
      /**
       * Capabilities of the model, such as TuFT's `training` and `sampling`. Absent if the server
       * supports both.
       */
      capabilities: z.array(z.string()).nullish(),
    }),
  ),
});
/** Schema of the response to `weights_info`. */
export const weightsInfoAnswer = z.object({
  base_model: z.string(),
  is_lora: z.boolean(),
  lora_rank: z.number().int().nullish(),
});

/** Schema of the result of `create_model`. */
export const modelResult = z.object({
  model_id: id,
  lora_config: z.object({ rank: z.number(), alpha: z.number().nullish() }).nullish(),
});
/** Schema of the result of `optim_step`. SkyRL sends null for NaN, which JSON cannot represent. */
export const stepResult = z.object({
  metrics: z
    .record(
      z.string(),
      z
        .number()
        .nullable()
        .transform((value) => value ?? Number.NaN),
    )
    .nullish(),
});
/** Schema of the result of `save_weights`, which is a Tinker path. */
export const saveResult = z.object({ path: z.string() });
/** Schema of the result of `load_weights`. */
export const loadResult = z.object({ path: z.string().nullish(), model_id: id.nullish() });
/** Result of `save_weights_for_sampler`: a Tinker path or the id of a sampling session. */
export const samplerResult = z.object({
  path: z.string().nullish(),
  sampling_session_id: id.nullish(),
});
/** Schema of the response of hosted servers while work is in progress. The client polls again. */
export const tryAgainResult = z.object({
  type: z.literal('try_again'),
  queue_state: z.string().nullish(),
});
/** Schema of the response of hosted servers when work has failed. */
export const failedResult = z.object({ error: z.string(), category: z.string().nullish() });
export type FailedResult = z.output<typeof failedResult>;

/**
 * URL paths of the protocol. The path of a JSON verb without an entry is `root` followed by the
 * verb.
 */
export const paths = {
  root: '/api/v1/',
  forwardBackward: '/api/v1/forward_backward',
  capabilities: '/api/v1/get_server_capabilities',
  health: '/api/v1/healthz',
  /**
   * Returns the path of the request that redirects to the archive of a saved adapter: a gzipped tar
   * of a PEFT folder.
   */
  archive: (modelId: string, name: string): string =>
    `/api/v1/training_runs/${encodeURIComponent(modelId)}/checkpoints/${encodeURIComponent(name)}/archive`,
  checkpoint: (modelId: string, name: string): string =>
    `/api/v1/training_runs/${encodeURIComponent(modelId)}/checkpoints/${name.split('/').map(encodeURIComponent).join('/')}`,
} as const;

/** Content type of `forward_backward` requests, and of results of passes and samples. */
export const protobufType = 'application/x-protobuf';
