/**
 * Saves and loads checkpoints. A checkpoint consists of weights saved on the server, and of a local
 * folder with the server's paths of these weights and the downloaded adapter.
 */
import { rm } from 'node:fs/promises';
import { CheckpointError, describeError, EngineError } from '@trinity-rft/core';
import type { Connection } from '../http/connection.js';
import type { Calls } from '../remote/calls.js';
import {
  createModel,
  type ModelContext,
  type ModelOptions,
  type RemoteModel,
} from '../remote/model.js';
import { removeSaved, statusOf } from '../remote/saved.js';
import type { CheckpointCalls, Trained } from '../train/trainer.js';
import { parseTinkerPath } from '../../protocol/index.js';
import { adapterFolder, fetchAdapter, isOutOfReach, takeAdapter } from './adapter.js';
import { copyModelFiles } from './model-files.js';
import { findRecord, readRecord, writeRecord, type CheckpointRecord } from './record.js';

export interface CheckpointOptions {
  readonly context: ModelContext;
  readonly connection: Connection;
  readonly model: ModelOptions;
  readonly trained: Trained;
  /** Model folder whose configuration, tokenizer and chat template are copied into checkpoints. */
  readonly modelPath: string;
  /** True if the server deletes a model's saved weights when the model is unloaded. */
  readonly forgets: boolean;
}

export function createCheckpoints(options: CheckpointOptions): CheckpointCalls {
  let saves = 0;
  return {
    save: (directory, { optimizer, merged = true }) => {
      const name = `step-${options.trained.step}-${++saves}`;
      return optimizer || merged
        ? save(options, { directory, name, optimizer })
        : deliver(options, { directory, name });
    },
    load: (directory) => load(options, directory),
    discard: (directory) => discard(options, directory),
  };
}

interface Target {
  readonly directory: string;
  readonly name: string;
}

interface SaveOptions extends Target {
  readonly optimizer: boolean;
}

async function save(
  options: CheckpointOptions,
  { directory, name, optimizer }: SaveOptions,
): Promise<void> {
  const { model, trained, modelPath } = options;
  const { model: remote, step } = trained;
  const [weights, sampler] = await Promise.all([
    remote.saveWeights(name),
    remote.saveAdapter(name),
  ]);
  await copyModelFiles(modelPath, directory);
  await bringAdapterHome(options, { modelId: remote.id, name }, directory);
  await writeRecord(directory, {
    version: 1,
    base_model: model.baseModel,
    lora_rank: model.lora.rank,
    weights,
    sampler,
    step,
    optimizer,
  });
}

/**
 * Saves only the adapter, downloads it for samplers that run elsewhere, and deletes the server's
 * copy.
 */
async function deliver(
  { trained: { model }, connection, context: { logger } }: CheckpointOptions,
  { directory, name }: Target,
): Promise<void> {
  const target = { directory: adapterFolder(directory), name };
  await takeAdapter({ connection, logger }, model, target);
}

/** Deletes a checkpoint's weights on the server. Failures are logged. */
async function discard(
  { connection, context: { logger } }: CheckpointOptions,
  directory: string,
): Promise<void> {
  try {
    const { weights, sampler } = (await findRecord(directory)) ?? {};
    for (const address of [weights, sampler]) {
      const saved = parseTinkerPath(address ?? '');
      if (saved !== undefined) await removeSaved({ connection, logger }, saved);
    }
  } catch (error) {
    logger.warn(
      `The weights of ${directory} stay on the Tinker server, because nothing says which they are: ${describeError(error)}`,
    );
  }
}

/**
 * Downloads the adapter into the checkpoint. If the adapter is out of reach, only logs a warning,
 * because the checkpoint can still be loaded from the server.
 */
async function bringAdapterHome(
  { connection, context: { logger } }: CheckpointOptions,
  source: { readonly modelId: string; readonly name: string },
  directory: string,
): Promise<void> {
  try {
    await fetchAdapter(connection, source, adapterFolder(directory));
  } catch (error) {
    if (!isOutOfReach(error)) throw error;
    await rm(adapterFolder(directory), { recursive: true, force: true });
    logger.warn(
      `The Tinker server hands out no adapters: ${describeError(error)} Checkpoints say where theirs lie there.`,
    );
  }
}

/**
 * Loads a checkpoint's weights into a new model that replaces the current one, because the server
 * accepts a load only as the first request of a model. Unloads the current model, unless the server
 * would then delete its saved weights.
 */
async function load(options: CheckpointOptions, directory: string): Promise<void> {
  const { context, model, trained, forgets } = options;
  const record = await readRecord(directory);
  assertSameModel(model, record, directory);
  const loadInto = await findWeights(context.calls, record, directory);
  if (!forgets || !trained.model.hasSaved) await trained.model.unload();
  trained.model = await createModel(context, model);
  await loadInto(trained.model, record.optimizer);
  trained.step = record.optimizer ? record.step : 0;
}

function assertSameModel(
  { lora: { rank }, baseModel }: ModelOptions,
  record: CheckpointRecord,
  directory: string,
): void {
  if (record.base_model === baseModel && record.lora_rank === rank) return;
  throw new CheckpointError(
    `${directory} holds an adapter of rank ${record.lora_rank} for ${record.base_model}, and the engine trains one of rank ${rank} for ${baseModel}. Set model.tinker.rank, and model.tinker.base_model or model.model_path, as they were.`,
    { code: 'CHECKPOINT_OTHER_MODEL' },
  );
}

/**
 * Looks up a checkpoint's weights on the server. The function that it returns loads them into a
 * model, with the optimizer moments if `optimizer` is true.
 * @throws CheckpointError if the server no longer has the weights; so does the returned function
 */
export async function findWeights(
  calls: Calls,
  record: CheckpointRecord,
  directory: string,
): Promise<(model: RemoteModel, optimizer: boolean) => Promise<void>> {
  const status = await statusOf(calls, record.weights);
  // After status 500 only a load shows whether the weights exist.
  if (status !== undefined && status !== 500) throw lost(record, directory);
  return async (model, optimizer) => {
    try {
      await model.load(record.weights, optimizer);
    } catch (cause) {
      const isRefused = EngineError.is(cause) && Number(cause.details['status']) <= 500;
      throw status === 500 && isRefused ? lost(record, directory, cause) : cause;
    }
  };
}

const lost = (
  { weights }: CheckpointRecord,
  directory: string,
  cause?: EngineError,
): CheckpointError =>
  new CheckpointError(
    `The Tinker server no longer has ${weights}, the weights of ${directory}. Restore its checkpoints (TuFT keeps them over a restart with persistence: { mode: FILE }), or start the run under another name.`,
    { code: 'CHECKPOINT_LOST', cause },
  );
