/**
 * An engine on a server that speaks the Tinker protocol. It handles token ids and Tinker paths of
 * weights, but no text, rewards or algorithms.
 */
import { type Clock, type Logger, EngineError, silentLogger, systemClock } from '@trinity-rft/core';
import type { Engine, OptimizerOptions } from '@trinity-rft/core/engine';
import { assembleEngine } from './assemble.js';
import { readModelSizes, type ModelSizes } from './checkpoint/model-files.js';
import { findWeights } from './checkpoint/checkpoints.js';
import { findRecord, type CheckpointRecord } from './checkpoint/record.js';
import { connect, type Connection } from './http/connection.js';
import { probeServer, type ProbeOptions } from './probe.js';
import { chooseBaseModel, type BaseModel } from './remote/base-model.js';
import { createCalls } from './remote/calls.js';
import {
  createModel,
  unloadAll,
  type ModelContext,
  type ModelOptions,
  type RemoteModel,
} from './remote/model.js';
import { openSession, type Session } from './remote/session.js';
import type { SamplingHandle } from './sample/handle.js';
import { deliverWeights } from './sample/weights.js';
import type { RowLimits } from './train/rows.js';
import { adamOf } from './train/trainer.js';

export interface TinkerEngineOptions {
  /**
   * Folder of the model: a checkpoint of this engine, or the Hugging Face folder of the model that
   * the server trains. The weights in a Hugging Face folder are not needed.
   */
  readonly modelPath: string;
  /** The model's name on the server. @default `hubId`, otherwise the server's only model */
  readonly baseModel?: string;
  /**
   * The model's id on the Hugging Face Hub. If the server offers a single model and `baseModel` is
   * not set, that model is used whatever its name.
   */
  readonly hubId?: string;
  /** URL of the server. @default hosted Tinker */
  readonly baseUrl?: string;
  readonly apiKey?: string | undefined;
  /** LoRA rank. @default 16 */
  readonly rank?: number;
  /** Seed for initializing the adapter. @default 0 */
  readonly seed?: number;
  /** True to train adapters of the MLP layers. @default true */
  readonly trainMlp?: boolean;
  /** True to train adapters of the attention layers. @default true */
  readonly trainAttn?: boolean;
  /** True to train an adapter of the output layer (unembedding, LM head). @default true */
  readonly trainUnembed?: boolean;
  /**
   * True to create a second, untrained adapter that serves as the reference model. @default false
   */
  readonly reference?: boolean;
  /**
   * True if the training run samples on the server. Opening then fails if the server cannot sample.
   * @default true
   */
  readonly samples?: boolean;
  /**
   * Optimizer settings of the training run. Before training, the engine tests with them whether the
   * server's precision suffices.
   * @default the defaults of `TrainEngine.step`, with learning rate 1e-5
   */
  readonly optimizer?: Pick<OptimizerOptions, 'learningRate' | 'betas'>;
  /**
   * Maximum total number of tokens in prompt and response.
   * @default the smaller of the limits in config.json and of the server, less one token if
   * `samples` is true
   */
  readonly maxModelLen?: number;
  /**
   * Byte sequence of each token, indexed by token id. Needed for stop strings. @default undefined:
   * stop strings are rejected
   */
  readonly tokenBytes?: readonly Uint8Array[];
  /**
   * Maximum time for which requests are retried while the server is down or busy, in ms. @default 5
   * min
   */
  readonly patienceMs?: number;
  /** Maximum wait for the result of one request, in ms. @default 30 min */
  readonly resultMs?: number;
  /** Logger of the engine. @default silent */
  readonly logger?: Logger;
  readonly clock?: Clock;
  /**
   * Signal that aborts when the training run stops; see `EngineOptions` of core for its effects.
   * @default no signal
   */
  readonly signal?: AbortSignal;
}

const hostedAddress = 'https://tinker.thinkingmachines.dev/services/tinker-prod';

const minute = 60_000;

/**
 * Creates an adapter on the server, initialized from `modelPath` if that is a checkpoint. First
 * probes how the server computes losses, clips gradients and samples. The process stays alive until
 * the engine is closed.
 * @throws CheckpointError if the folder cannot be used, and EngineError if the server cannot be
 * used
 */
export async function createTinkerEngine(options: TinkerEngineOptions): Promise<Engine> {
  const { clock = systemClock, logger = silentLogger, patienceMs = 5 * minute } = options;
  const { modelPath, apiKey, resultMs = 30 * minute } = options;
  const sizes = await readModelSizes(modelPath);
  const initial = await findRecord(modelPath);
  const baseUrl = (options.baseUrl ?? hostedAddress).replace(/\/+$/, '');
  const ended = new AbortController();
  const { signal: stop } = options;
  const connection = connect({
    ...{ baseUrl, apiKey, clock, logger, patienceMs, stop },
    signal: ended.signal,
  });
  const calls = createCalls({ connection, clock, resultMs });
  const onStop = (): void => ended.abort(stop?.reason);
  stop?.throwIfAborted();
  stop?.addEventListener('abort', onStop);
  let session: Session | undefined;
  try {
    const { baseModel: set, hubId } = options;
    const base = await chooseBaseModel(
      calls,
      { recorded: initial?.base_model, set, hubId },
      logger,
    );
    if (options.samples !== false && !base.samples) throw trainsOnly(base);
    session = await openSession(calls, { clock, logger });
    const context = { calls, session, clock, logger, placeMs: 7 * minute, stop };
    const limits = limitsOf(options, sizes, base);
    const model = { baseModel: base.name, lora: loraOf(options, initial) };
    const reference = options.reference ?? false;
    const { tokenBytes, optimizer = { learningRate: 1e-5 } } = options;
    const shared = { modelPath, initial, reference, tokenBytes, connection, ended };
    const probe = { samples: base.samples, adam: adamOf({ ...optimizer, weightDecay: 0 }) };
    return await openModel({ context, model, limits, probe, ...shared });
  } catch (error) {
    session?.close();
    // Ends the requests to unload adapters that a server does not answer.
    ended.abort(error);
    throw error;
  } finally {
    stop?.removeEventListener('abort', onStop);
  }
}

const trainsOnly = ({ name }: BaseModel): EngineError =>
  new EngineError(
    `The Tinker server only trains ${name}: "sampling" is not among the capabilities that it lists. Sample on vLLM beside it (explorer.rollout_model.engine_type: vllm, with its base_url), or start it with sampling.`,
    { code: 'TINKER_TRAINS_ONLY' },
  );

interface OpenOptions {
  readonly probe: Pick<ProbeOptions, 'samples' | 'adam'>;
  readonly context: ModelContext;
  readonly connection: Connection;
  readonly model: ModelOptions;
  readonly limits: RowLimits;
  readonly modelPath: string;
  readonly initial: CheckpointRecord | undefined;
  readonly reference: boolean;
  readonly tokenBytes: readonly Uint8Array[] | undefined;
  readonly ended: AbortController;
}

async function openModel(options: OpenOptions): Promise<Engine> {
  const { context, connection, model, limits, initial, probe } = options;
  const { logger } = context;
  const traits = await probeServer({ context, connection, model, limits, ...probe });
  const losses = [...traits.losses].join(', ');
  logger.info('The Tinker server is ready', { baseModel: model.baseModel, ...traits, losses });
  const delivery = deliverWeights({ context, connection, model, sampling: traits.sampling });
  const loadInto = initial && (await findWeights(context.calls, initial, options.modelPath));
  const models: RemoteModel[] = [];
  const newModel = async (): Promise<RemoteModel> => {
    const created = await createModel(context, model);
    models.push(created);
    await loadInto?.(created, false);
    return created;
  };
  const initialWeights = (): Promise<SamplingHandle> =>
    initial === undefined ? delivery.ofBase() : delivery.ofCheckpoint(initial);
  try {
    const trained = { model: await newModel(), step: 0 };
    const reference = options.reference ? await secondAdapter(newModel) : undefined;
    return assembleEngine({ ...options, traits, delivery, trained, initialWeights, reference });
  } catch (error) {
    await unloadAll(context, models);
    throw error;
  }
}

/**
 * Creates the untrained adapter that serves as the reference model for KL terms.
 * @throws EngineError if the server holds only one adapter at a time
 */
async function secondAdapter(create: () => Promise<RemoteModel>): Promise<RemoteModel> {
  try {
    return await create();
  } catch (cause) {
    if (!(cause instanceof EngineError) || cause.code === 'ENGINE_WORKER_DIED') throw cause;
    throw new EngineError(
      `The Tinker server makes no second adapter, which the KL term compares with: ${cause.message} Set kl_loss_fn: none and kl_penalty_fn: none, or train on a server that holds several adapters, such as TuFT.`,
      { code: 'TINKER_ONE_ADAPTER', cause },
    );
  }
}

function limitsOf(
  { modelPath, maxModelLen = Infinity, samples = true }: TinkerEngineOptions,
  { vocabSize, maxPositions }: ModelSizes,
  { maxContext }: BaseModel,
): RowLimits {
  // Scoring a row on a sampler samples one more token, which is discarded.
  const spare = samples ? 1 : 0;
  const longest = Math.min(maxModelLen, Math.min(maxPositions, maxContext) - spare);
  if (Number.isFinite(longest)) return { vocabSize, maxModelLen: longest };
  throw new EngineError(
    `Neither ${modelPath} nor the Tinker server says how long a sequence may be. Set model.max_model_len.`,
    { code: 'TINKER_LENGTH' },
  );
}

const loraOf = (
  { rank = 16, seed = 0, trainMlp, trainAttn, trainUnembed }: TinkerEngineOptions,
  initial: CheckpointRecord | undefined,
): ModelOptions['lora'] => ({
  rank: initial?.lora_rank ?? rank,
  seed: seed & 0x7fffffff,
  train_mlp: trainMlp ?? true,
  train_attn: trainAttn ?? true,
  train_unembed: trainUnembed ?? true,
});
