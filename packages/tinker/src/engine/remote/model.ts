/** A model in training on the server: an adapter over the base model, and its optimizer. */
import { describeError, EngineError, type Clock, type Logger } from '@trinity-rft/core';
import {
  decodeForwardBackwardResult,
  encodeForwardBackward,
  loadResult,
  modelAnswer,
  modelResult,
  samplerResult,
  saveResult,
  stepResult,
  type ForwardBackwardRequest,
  type ForwardBackwardResult,
  type JsonRequest,
} from '../../protocol/index.js';
import pLimit from 'p-limit';
import { z } from 'zod';
import { unreadable, type Calls, type CallOptions } from './calls.js';
import type { Session } from './session.js';

export type AdamParams = Required<NonNullable<JsonRequest<'optim_step'>['adam_params']>>;
export type Pass = Pick<ForwardBackwardRequest, 'data' | 'lossFn' | 'lossConfig' | 'forwardOnly'>;

/**
 * A model in training on the server. Requests are sent in the order of the calls, without waiting
 * for earlier results.
 */
export interface RemoteModel {
  readonly id: string;
  /**
   * True if weights of this model were saved. Some servers delete them when the model is unloaded.
   */
  readonly hasSaved: boolean;
  pass(pass: Pass): Promise<ForwardBackwardResult>;
  step(adam: AdamParams): Promise<Readonly<Record<string, number>>>;
  /**
   * Saves weights and optimizer moments on the server.
   * @returns the Tinker path of both
   */
  saveWeights(name: string): Promise<string>;
  /**
   * Saves the adapter on the server.
   * @returns its Tinker path, which samplers load
   */
  saveAdapter(name: string): Promise<string>;
  /** Makes the current weights available for sampling. @returns the id of the sampling session */
  saveForSampling(): Promise<string>;
  /**
   * Loads saved weights, with the optimizer moments if `optimizer` is true. Must be the first
   * request of the model.
   */
  load(path: string, optimizer: boolean): Promise<void>;
  unload(): Promise<void>;
}

export interface ModelOptions {
  readonly baseModel: string;
  readonly lora: JsonRequest<'create_model'>['lora_config'];
}

export interface ModelContext {
  readonly calls: Calls;
  readonly session: Session;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Maximum wait for a free model slot, in ms. Models of a terminated training run may occupy all
   * slots for minutes.
   */
  readonly placeMs: number;
  /** Signal that ends the wait for a free slot. @default no signal */
  readonly stop?: AbortSignal;
}

export async function createModel(
  context: ModelContext,
  options: ModelOptions,
): Promise<RemoteModel> {
  const { session } = context;
  const { id, requestId } = await requestModel(context, options);
  const calls = unlessRestored(context.calls, requestId);
  let sequence = 0;
  let hasSaved = false;
  const inOrder = pLimit(1);
  const ordered = async <T>(
    submit: (seqId: number) => Promise<string>,
    read: (requestId: string) => Promise<T>,
  ): Promise<T> => read(await inOrder(() => submit(++sequence)));
  const model = { model_id: id };

  const sampler = (
    request: (seqId: number) => JsonRequest<'save_weights_for_sampler'>,
    options: CallOptions,
  ): Promise<z.output<typeof samplerResult>> => {
    hasSaved = true;
    return ordered(
      (seqId) => calls.submit('save_weights_for_sampler', request(seqId), options),
      (requestId) => calls.result(requestId, samplerResult, options),
    );
  };

  return {
    id,
    get hasSaved() {
      return hasSaved;
    },
    pass: (pass) => {
      const options = { what: pass.forwardOnly ? 'score a batch' : 'compute gradients' };
      const body = (seqId: number): Uint8Array =>
        encodeForwardBackward({ ...pass, modelId: id, seqId });
      return ordered(
        (seqId) => calls.submitPass(body(seqId), options),
        async (requestId) => readPass(await calls.bytes(requestId, options), options),
      );
    },
    step: (adam) => {
      const options = { what: 'update the weights' };
      return ordered(
        (seqId) =>
          calls.submit('optim_step', { ...model, seq_id: seqId, adam_params: adam }, options),
        async (requestId) => (await calls.result(requestId, stepResult, options)).metrics ?? {},
      );
    },
    saveWeights: (name) => {
      hasSaved = true;
      const options = { what: `save the weights as ${name}`, repeat: 'unsent' } as const;
      return ordered(
        (seqId) => calls.submit('save_weights', { ...model, seq_id: seqId, path: name }, options),
        async (requestId) => (await calls.result(requestId, saveResult, options)).path,
      );
    },
    saveAdapter: async (name) => {
      const options = { what: `save the adapter as ${name}`, repeat: 'unsent' } as const;
      const request = (seqId: number) => ({ ...model, seq_id: seqId, path: name });
      const { path } = await sampler(request, options);
      return path ?? missing(options.what, 'path');
    },
    saveForSampling: async () => {
      const options = { what: 'hand weights to the sampler', repeat: 'unsent' } as const;
      const number = session.nextSampler();
      const { sampling_session_id: found } = await sampler(
        (seqId) => ({ ...model, seq_id: seqId, sampling_session_seq_id: number }),
        options,
      );
      return found ?? missing(options.what, 'sampling_session_id');
    },
    load: async (path, optimizer) => {
      const options = { what: `load ${path}`, repeat: 'unsent' } as const;
      await ordered(
        (seqId) =>
          calls.submit('load_weights', { ...model, seq_id: seqId, path, optimizer }, options),
        (requestId) => calls.result(requestId, loadResult, options),
      );
    },
    unload: async () => {
      const options = { what: `unload ${id}` };
      const requestId = await inOrder(() => calls.submit('unload_model', model, options));
      await calls.result(requestId, z.unknown(), options);
    },
  };
}

/**
 * Maximum wait for the server to unload models, in ms. A server that is down must not block the
 * end of a run.
 */
const goodbyeMs = 5_000;

/** Unloads models that are no longer needed. Failures are logged. */
export async function unloadAll(
  { clock, logger }: Pick<ModelContext, 'clock' | 'logger'>,
  models: readonly Pick<RemoteModel, 'unload'>[],
): Promise<void> {
  const gone = new AbortController();
  const unload = (model: Pick<RemoteModel, 'unload'>): Promise<void> =>
    model
      .unload()
      .catch((error: unknown) =>
        logger.debug(`An adapter stays on the Tinker server: ${describeError(error)}`),
      );
  const unloaded = Promise.all(models.map(unload));
  await Promise.race([unloaded, clock.sleep(goodbyeMs, gone.signal).catch(() => undefined)]);
  gone.abort();
}

/** Matches TuFT 0.2's error messages for results that a restart of the server cancelled. */
const restoredText = /was cancelled|no checkpoint found/i;

/**
 * Returns calls that reject before a submission if TuFT was restarted since the last one. After a
 * restart, TuFT resets every model to its last saved weights and cancels the results of all later
 * requests. To detect this, the newest result of the model is fetched again after any request
 * attempt has failed.
 * @param newest id of the request that created the model
 */
function unlessRestored(calls: Calls, newest: string): Calls {
  let checked = calls.failures();
  const before = async (): Promise<void> => {
    const failures = calls.failures();
    if (failures === checked) return;
    const what = 'say whether it was restarted';
    await calls.result(newest, z.unknown(), { what }).catch((error: unknown) => {
      if (EngineError.is(error) && restoredText.test(error.message)) throw error;
    });
    checked = failures;
  };
  const noting = async (submitted: Promise<string>): Promise<string> => (newest = await submitted);
  return {
    ...calls,
    submit: (verb, body, options) => noting(calls.submit(verb, body, { ...options, before })),
    submitPass: (body, options) => noting(calls.submitPass(body, { ...options, before })),
  };
}

function missing(what: string, key: string): never {
  throw unreadable(what, `${key} is missing`);
}

function readPass(bytes: Uint8Array, { what }: CallOptions): ForwardBackwardResult {
  try {
    return decodeForwardBackwardResult(bytes);
  } catch (error) {
    throw unreadable(what, (error as Error).message);
  }
}

const placePauseMs = 5_000;
/**
 * Timeout of the request that creates a model, in ms. TuFT responds only after it has created the
 * adapter.
 */
const createMs = 5 * 60_000;

/**
 * Creates a model, and waits until the server has created it.
 * @returns the ids of the model and of the request
 */
async function requestModel(
  { calls, session, clock, logger, placeMs, stop }: ModelContext,
  { baseModel, lora }: ModelOptions,
): Promise<{ readonly id: string; readonly requestId: string }> {
  const options = { what: `create an adapter of ${baseModel}`, repeat: 'unsent' } as const;
  const until = clock.now() + placeMs;
  for (let attempt = 0; ; attempt++) {
    const request = {
      session_id: session.id,
      model_seq_id: session.nextModel(),
      base_model: baseModel,
      lora_config: lora,
    };
    const { request_id: requestId } = await calls.ask('create_model', request, modelAnswer, {
      ...options,
      timeoutMs: createMs,
    });
    try {
      const { model_id: id } = await calls.result(requestId, modelResult, options);
      return { id, requestId };
    } catch (error) {
      if (!isFull(error) || clock.now() + placePauseMs > until) throw error;
      if (attempt === 0)
        logger.warn(
          `The Tinker server has no place for another adapter; those of a stopped run are freed minutes after its end. Waits up to ${Math.round(placeMs / 60_000)} min.`,
        );
      await clock.sleep(placePauseMs, stop);
    }
  }
}

/**
 * Returns true if the error says that the server has no free model slot. SkyRL's message is
 * "Maximum number of LoRA adapters (6) reached".
 */
const isFull = (error: unknown): boolean =>
  error instanceof EngineError && /maximum number/i.test(error.message);
